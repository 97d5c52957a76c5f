package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/cli.md")

const cliPage = "../../docs/cli.md"

// The page of the command line is what the grammar says.
func TestCLIDocs(t *testing.T) {
	intro, err := os.ReadFile("testdata/cli_intro.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := (&env{lookup: func(string) (string, bool) { return "", false }}).parser()
	if err != nil {
		t.Fatal(err)
	}
	got := string(intro) + commandPage(t, parser.Model.Node)
	if *update {
		if err := os.WriteFile(cliPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(cliPage)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("docs/cli.md is not what the grammar is; run go test ./cmd/mcp-sandbox -run TestCLIDocs -update:\n%s", d)
	}
}

// commandPage describes the commands for users, in the order of --help. What all
// of them have is said once.
func commandPage(t *testing.T, root *kong.Node) string {
	var b strings.Builder
	var used []*kong.Node
	for _, n := range root.Children {
		if n.Group != nil && n.Group.Key == "use" {
			used = append(used, n)
		}
	}
	b.WriteString("## Commands\n\n| command | what it does |\n| --- | --- |\n")
	for _, n := range used {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", n.Name, n.Name, n.Help)
	}
	common := flagSet(&reach{}, t)
	b.WriteString("\n## Flags of all commands\n\n")
	b.WriteString(flagRows(used[0], func(f *kong.Flag) bool { return common[f.Name] }))
	for _, n := range used {
		if n.Detail == "" || !strings.Contains(n.Detail, "    ") {
			t.Errorf("%s --help has no example", n.Name)
		}
		fmt.Fprintf(&b, "\n## %s\n\n    mcp-sandbox %s\n\n%s\n\n%s\n", n.Name, synopsis(n), n.Help, n.Detail)
		if rows := argumentRows(n); rows != "" {
			b.WriteString("\n" + rows)
		}
		if rows := flagRows(n, func(f *kong.Flag) bool { return !common[f.Name] }); rows != "" {
			b.WriteString("\n" + rows)
		}
	}
	return b.String()
}

// flagSet is the names of a grammar's own flags.
func flagSet(grammar any, t *testing.T) map[string]bool {
	k, err := kong.New(grammar, append(mappers(), argumentMappers()...)...)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range k.Model.Flags {
		names[f.Name] = true
	}
	return names
}

func synopsis(n *kong.Node) string {
	s := n.Name + " [flags]"
	for _, p := range n.Positional {
		s += " " + p.Summary()
	}
	return s
}

func argumentRows(n *kong.Node) string {
	if len(n.Positional) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| argument | |\n| --- | --- |\n")
	for _, p := range n.Positional {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.Summary(), strings.ReplaceAll(describe(p), "|", `\|`))
	}
	return b.String()
}

func flagRows(n *kong.Node, wanted func(*kong.Flag) bool) string {
	var b strings.Builder
	for _, f := range n.Flags {
		if f.Hidden || !wanted(f) || f.Name == "help" {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", f, strings.ReplaceAll(describe(f.Value), "|", `\|`))
	}
	if b.Len() == 0 {
		return ""
	}
	return "| flag | |\n| --- | --- |\n" + b.String()
}
