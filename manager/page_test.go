package manager_test

import (
	"encoding/base64"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// A cursor that was made up, or is of another list, is refused: as if it were
// good it would answer that there is nothing.
func TestMadeUpCursorIsRefused(t *testing.T) {
	s := start(t)
	b := s.create()
	s.create()
	s.put(b.ID, "a", "x")
	s.put(b.ID, "b", "x")
	s.snap(b.ID)
	s.snap(b.ID)
	lists := map[string]func(schemas.Page) (string, error){
		"sandboxes": func(p schemas.Page) (string, error) {
			l, err := s.List(t.Context(), owner, p)
			return l.NextCursor, err
		},
		"snapshots": func(p schemas.Page) (string, error) {
			l, err := s.ListSnapshots(t.Context(), owner, "", p)
			return l.NextCursor, err
		},
		"files": func(p schemas.Page) (string, error) {
			l, err := s.ListFiles(t.Context(), owner, b.ID, ".", p)
			return l.NextCursor, err
		},
	}
	made := []string{"zzzz", "abcdefghijklmnop", "AAAAAAAA", "b", base64.RawURLEncoding.EncodeToString([]byte("zzz")), "====", "\x00"}
	next := map[string]string{}
	for name, list := range lists {
		c, err := list(schemas.Page{Limit: 1})
		if err != nil || c == "" {
			t.Fatalf("%s: cursor %q, %v", name, c, err)
		}
		if _, err := list(schemas.Page{Limit: 1, Cursor: c}); err != nil {
			t.Errorf("%s: its own cursor: %v", name, err)
		}
		next[name] = c
	}
	for name, list := range lists {
		others := append(made[:len(made):len(made)], next[name]+"A", next[name][1:])
		for other, c := range next {
			if other != name {
				others = append(others, c)
			}
		}
		for _, c := range others {
			if _, err := list(schemas.Page{Cursor: c}); manager.KindOf(err) != manager.KindInvalid {
				t.Errorf("%s with cursor %q: %v", name, c, err)
			}
		}
	}
}
