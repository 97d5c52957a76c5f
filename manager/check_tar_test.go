package manager_test

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

func reg(name string) *tar.Header { return &tar.Header{Name: name, Size: 1, Mode: 0o644} }

func dir(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755} }

func link(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}
}

func symlink(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

// An upload that is taken in can be forked: what depends on the entries before it
// is checked as well as each entry is.
func TestG23ImportChecksEntriesTogether(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct {
		entries []*tar.Header
		about   string
	}{
		"link before its target":   {[]*tar.Header{link("h", "f"), reg("f")}, "hard link"},
		"link to itself":           {[]*tar.Header{link("h", "./h")}, "itself"},
		"link over its own target": {[]*tar.Header{reg("h"), link("h", "h")}, "itself"},
		"link to a directory":      {[]*tar.Header{dir("d"), link("h", "d")}, "hard link"},
		"link to an implied one":   {[]*tar.Header{reg("d/f"), link("h", "d")}, "hard link"},
		"link through a link":      {[]*tar.Header{reg("d/f"), symlink("l", "d"), link("h", "l/f")}, "hard link"},
		"below a symbolic link":    {[]*tar.Header{dir("d"), symlink("l", "d"), reg("l/f")}, `"l"`},
		"below a file":             {[]*tar.Header{reg("a/b"), reg("a/b/c/d")}, `"a/b"`},
		"below a FIFO":             {[]*tar.Header{{Name: "p", Typeflag: tar.TypeFifo}, reg("p/f")}, `"p"`},
		"a file over a full one":   {[]*tar.Header{reg("d/f"), reg("d")}, "something in it"},
		"a link over a full one":   {[]*tar.Header{reg("f"), dir("d/e"), link("d", "f")}, "something in it"},
		"the root as a file":       {[]*tar.Header{reg(".")}, "none"},
		"a symbolic link too long": {[]*tar.Header{symlink("l", strings.Repeat("t", 4096))}, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.imports("", bytes.NewReader(tarOf(t, c.entries...)))
			if e := wantKind(t, err, manager.KindInvalid); !strings.Contains(e.Message, c.about) {
				t.Errorf("%q, want it to say %q", e.Message, c.about)
			}
		})
	}
	for name, entries := range map[string][]*tar.Header{
		"file, directory":             {reg("a"), dir("a"), reg("a/b")},
		"empty directory, file":       {dir("a"), reg("a"), reg("a")},
		"symbolic link, file":         {symlink("a", "/etc"), reg("a")},
		"a directory again":           {dir("a"), reg("a/b"), dir("a/")},
		"link to a symbolic link":     {symlink("a", "b"), link("h", "a"), reg("b")},
		"links to links, other forms": {reg("./d//f"), link("h", "d/f"), link("./i", "./h")},
		"names that join alike":       {reg("ab/c"), reg("a/bc"), reg("a/b")},
		"only itself":                 {dir("./")},
	} {
		if _, err := s.imports("", bytes.NewReader(tarOf(t, entries...))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
