package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPage holds the committed page against the source: each case names tests that
// are there, in packages where a test carries its ID.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/field-cases.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n++
		id, tests, result := m[1], m[3], m[4]
		if tests == none {
			continue
		}
		if !strings.HasPrefix(result, "passed") {
			t.Errorf("%s: %s", id, result)
		}
		for group := range strings.SplitSeq(tests, "; ") {
			pkg, names, _ := strings.Cut(group, ".")
			source := sourceOf(t, pkg)
			if !carries(id).MatchString(source) {
				t.Errorf("%s: no test in %s carries it", id, pkg)
			}
			for name := range strings.SplitSeq(names, ", ") {
				if !strings.Contains(source, "func "+name+"(") {
					t.Errorf("%s: there is no %s.%s", id, pkg, name)
				}
			}
		}
	}
	if n == 0 {
		t.Error("the page has no case")
	}
}

// carries finds an ID in the name of a test or, in quotes, of a subtest.
func carries(id string) *regexp.Regexp {
	return regexp.MustCompile(`"([A-O]\d+ )*` + id + `[ "]|func Test([A-O]\d+)*` + id + `[(A-Z]`)
}

var sources = map[string]string{}

// suite is a package of tests that others run on what is theirs.
const suite = "manager/backendtest"

// sourceOf is the source of a package's tests, with those of the suite if it
// runs them.
func sourceOf(t *testing.T, pkg string) string {
	t.Helper()
	if sources[pkg] == "" {
		pattern := "*_test.go"
		if pkg == suite {
			pattern = "*.go"
		}
		files, _ := filepath.Glob(filepath.Join("../..", pkg, pattern))
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		if pkg != suite && strings.Contains(all.String(), suite) {
			all.WriteString(sourceOf(t, suite))
		}
		sources[pkg] = all.String()
	}
	return sources[pkg]
}
