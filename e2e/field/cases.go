package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// cases is what was found by the ID of each case.
type cases map[string]*found

// found are the tests that carry a case's ID.
type found struct {
	tests                   []string // as `package.Test`, without subtests
	passed, failed, skipped int      // tests and subtests
}

func (c cases) add(e event) {
	for _, id := range idsOf(e.Test) {
		f := c[id]
		if f == nil {
			f = &found{}
			c[id] = f
		}
		name, _, _ := strings.Cut(e.Test, "/")
		if name = inModule(e.Package) + "." + name; !slices.Contains(f.tests, name) {
			f.tests = append(f.tests, name)
			slices.Sort(f.tests)
		}
		switch e.Action {
		case "pass":
			f.passed++
		case "fail":
			f.failed++
		default:
			f.skipped++
		}
	}
}

// inModule is a package's path within the module; the module's is three long.
func inModule(pkg string) string {
	parts := strings.SplitN(pkg, "/", 4)
	if len(parts) < 4 {
		return path.Base(pkg)
	}
	return parts[3]
}

var leadingID = regexp.MustCompile(`^([A-O][0-9]{1,2})(?:[_ ]|$|[A-Z])`)

// idsOf is which cases a test is about: TestG9G10Changes and
// TestHardening/M1_K3_no_say are about two each.
func idsOf(test string) (ids []string) {
	for element := range strings.SplitSeq(test, "/") {
		rest := strings.TrimPrefix(element, "Test")
		for {
			m := leadingID.FindStringSubmatch(rest)
			if m == nil {
				break
			}
			if !slices.Contains(ids, m[1]) {
				ids = append(ids, m[1])
			}
			rest = strings.TrimLeft(rest[len(m[1]):], "_ ")
		}
	}
	return ids
}
