package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences that we may ship under: permissive ones, and one that
// asks for changes to its own files only. Another one is a decision for people.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib"}

// findLicence reads the licence files of a module.
func (m *module) findLicence() error {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return fmt.Errorf("%s: look for its licence: %w", m.Path, err)
	}
	found := map[string]bool{}
	for _, e := range entries {
		if !isLicence(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return fmt.Errorf("%s: read its licence: %w", m.Path, err)
		}
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL {
				found[match.ID] = true
			}
		}
	}
	var ids []string
	for id := range found {
		if !slices.Contains(allowed, id) {
			return fmt.Errorf("%s has the licence %s, which is not among those allowed: %s", m.Path, id, strings.Join(allowed, ", "))
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return fmt.Errorf("%s has no licence that is known; look into %s", m.Path, m.Dir)
	}
	slices.Sort(ids)
	m.licence = strings.Join(ids, " AND ")
	return nil
}

func isLicence(name string) bool {
	name, kind, _ := strings.Cut(strings.ToUpper(name), ".")
	if kind == "DOCS" { // for the documentation, of which we take nothing
		return false
	}
	for _, begin := range []string{"LICENSE", "LICENCE", "COPYING", "UNLICENSE"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}

// table is docs/licences.md.
func table(modules []module) string {
	var b strings.Builder
	b.WriteString(`# Licences

What the server and the guest are made of, and, below, what only builds and tests them. Written by ` + "`go generate ./supplychain`" + `,
which fails on a module without a licence that it knows, or with one that is not allowed (` + "`supplychain/licence.go`" + `).
The licences' texts are in the modules. ` + "`make sbom`" + ` writes the same as a bill of materials.
`)
	for _, part := range []struct {
		title   string
		shipped bool
	}{{"Shipped", true}, {"For building and testing", false}} {
		fmt.Fprintf(&b, "\n## %s\n\n| module | version | licence |\n| --- | --- | --- |\n", part.title)
		for _, m := range modules {
			if m.shipped == part.shipped {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", m.Path, m.Version, m.licence)
			}
		}
	}
	return b.String()
}
