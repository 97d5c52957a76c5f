package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestIDs(t *testing.T) {
	for name, want := range map[string][]string{
		"TestExec/A16_output_over_the_cap": {"A16"},
		"TestREST/kill/B5_grandchildren":   {"B5"},
		"TestG9G10Changes":                 {"G9", "G10"},
		"TestHardening/M1_K3_no_say":       {"M1", "K3"},
		"TestA19Churn":                     {"A19"},
		"TestHTTPStream":                   nil,
		"TestMCP/2026-07-28":               nil,
		"TestExec/A1":                      {"A1"},
		"TestExec/A123_no_case":            nil,
		"TestSHA256":                       nil,
	} {
		if got := idsOf(name); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestRewrite(t *testing.T) {
	const page = "# Cases\n\n| case | what | tests | result |\n| --- | --- | --- | --- |\n" +
		"| A1 | output | old | old |\n| A2 | more | old | old |\n| H5 | names are labels | none | |\n| L4 | bombs | old | old |\n"
	events := strings.Join([]string{
		`{"Action":"output","Package":"m.x/a/b/e2e","Test":"TestExec","Output":"words\n"}`,
		`{"Action":"pass","Package":"m.x/a/b/e2e","Test":"TestExec/A1_echo"}`,
		`{"Action":"pass","Package":"m.x/a/b/e2e","Test":"TestREST/A1_echo"}`,
		`{"Action":"pass","Package":"m.x/a/b/guest","Test":"TestA1"}`,
		`{"Action":"fail","Package":"m.x/a/b/guest/files","Test":"TestL4Bomb"}`,
		`{"Action":"skip","Package":"m.x/a/b/e2e","Test":"TestLimits/L4_bomb"}`,
		`not JSON`,
	}, "\n")
	var printed strings.Builder
	found, err := read(strings.NewReader(events), &printed)
	if err != nil || printed.String() != "words\nnot JSON\n" {
		t.Fatalf("printed %q, %v", printed.String(), err)
	}
	text, bad := rewrite(page, found)
	for _, want := range []string{
		"| A1 | output | e2e.TestExec, TestREST; guest.TestA1 | passed (3) |",
		"| A2 | more | old | not run |",
		"| H5 | names are labels | none | |",
		"| L4 | bombs | e2e.TestLimits; guest/files.TestL4Bomb | **1 of 1 failed** |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if len(bad) != 2 {
		t.Errorf("complaints: %v", bad)
	}
	if again, _ := rewrite(text, found); again != text {
		t.Errorf("the second time it is\n%s", again)
	}
	if _, err := read(strings.NewReader(strings.Repeat("x", 20<<20)), io.Discard); err == nil {
		t.Error("a line without end was taken")
	}
}
