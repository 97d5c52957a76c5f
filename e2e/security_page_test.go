package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// caseIDs are at the beginning of a property's name.
var caseIDs = regexp.MustCompile(`^([A-Z][0-9]+ )+`)

const securityPage = "../docs/security.md"

// TestSecurityPage holds the table of docs/security.md against the properties that
// TestIsolation checks; with -update it writes the table.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile(securityPage)
	check(t, err)
	const begin, end = "<!-- properties: go test ./e2e -run TestSecurityPage -update -->\n", "<!-- end of properties -->\n"
	head, rest, found := strings.Cut(string(page), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the properties between %q and %q", securityPage, begin, end)
	}
	want := head + begin + propertyTable() + end + tail
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not that of e2e/properties_test.go: run go test ./e2e -run TestSecurityPage -update", securityPage)
	}
	check(t, os.WriteFile(securityPage, []byte(want), 0o644))
}

func propertyTable() string {
	var b strings.Builder
	b.WriteString("| property | `docker inspect` shows | a program inside finds | test |\n| --- | --- | --- | --- |\n")
	for _, p := range properties {
		fmt.Fprintf(&b, "| **%s**: %s | %s | %s | `TestIsolation/…/%s` |\n", caseIDs.ReplaceAllString(p.name, ""), p.promise, facts(p.inspect), facts(p.probe), p.name)
	}
	return b.String()
}

// facts are one cell. What has the same outcome is said together.
func facts(all []fact) string {
	if len(all) == 0 {
		return "–"
	}
	var cell []string
	for i := 0; i < len(all); i++ {
		names := []string{code(all[i].what)}
		for i+1 < len(all) && all[i+1].want == all[i].want && strings.HasPrefix(all[i].want, "refused") {
			i++
			names = append(names, code(all[i].what))
		}
		cell = append(cell, strings.Join(names, ", ")+": "+code(all[i].want))
	}
	return strings.Join(cell, "; ")
}

// code shows names of Docker's, values and paths as such, and plain words as words.
func code(text string) string {
	text = strings.ReplaceAll(text, "|", `\|`)
	if strings.ContainsAny(text, "./<>[]{}=\"") && !strings.Contains(text, " (") {
		return "`" + text + "`"
	}
	return text
}
