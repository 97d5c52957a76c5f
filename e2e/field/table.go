package main

import (
	"fmt"
	"regexp"
	"strings"
)

// row is a case in the table: `| A1 | what must hold | tests | result |`.
var row = regexp.MustCompile(`^\| ([A-O][0-9]{1,2}) \| (.*) \| (.*) \| (.*) \|$`)

// none is the third column of a case that needs no test; the second says why.
const none = "none"

// rewrite is the page with tests and results as found, and what is wrong with it.
func rewrite(page string, found cases) (text string, bad []error) {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		id, what, tests := m[1], m[2], m[3]
		f := found[id]
		if f == nil {
			if tests != none {
				bad = append(bad, fmt.Errorf("no test about %s has run", id))
				lines[i] = columns(id, what, tests, "not run")
			}
			continue
		}
		if f.failed > 0 {
			bad = append(bad, fmt.Errorf("%s has failed", id))
		}
		lines[i] = columns(id, what, f.names(), f.result())
	}
	return strings.Join(lines, "\n"), bad
}

func columns(id, what, tests, result string) string {
	return "| " + strings.Join([]string{id, what, tests, result}, " | ") + " |"
}

// names are the tests, each package once: `e2e.TestExec, TestREST; guest.TestA1`.
func (f *found) names() string {
	var b strings.Builder
	last := ""
	for _, test := range f.tests {
		pkg, name, _ := strings.Cut(test, ".")
		switch {
		case pkg == last:
			b.WriteString(", " + name)
		case last == "":
			b.WriteString(test)
		default:
			b.WriteString("; " + test)
		}
		last = pkg
	}
	return b.String()
}

func (f *found) result() string {
	switch {
	case f.failed > 0:
		return fmt.Sprintf("**%d of %d failed**", f.failed, f.failed+f.passed)
	case f.passed == 0:
		return "skipped"
	case f.skipped > 0:
		return fmt.Sprintf("passed (%d; %d skipped)", f.passed, f.skipped)
	}
	return fmt.Sprintf("passed (%d)", f.passed)
}
