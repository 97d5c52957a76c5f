//go:build linux

package files

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func TestF1SiblingWithSamePrefix(t *testing.T) {
	w := newWorld(t)
	for _, p := range []string{"/workspace-evil/x", "/workspacefoo", "/workspace∕x", "/workspace/../..", "/workspace/../workspace-evil/x"} {
		_, err := w.put(p, "x")
		wantCode(t, err, protocol.ErrEscapes)
		_, err = w.Mkdir(protocol.MkdirParams{Path: []byte(p)})
		wantCode(t, err, protocol.ErrEscapes)
		wantCode(t, w.Delete(context.Background(), protocol.DeleteParams{Path: []byte(p), Recursive: true}), protocol.ErrEscapes)
		_, err = w.Move(protocol.MoveParams{From: []byte("/workspace/a"), To: []byte(p)})
		wantCode(t, err, protocol.ErrEscapes)
	}
	_, err := w.get("/workspace-evil/x")
	wantCode(t, err, protocol.ErrNotFound)
}

func TestF2NamesThatBeginWithDots(t *testing.T) {
	w := newWorld(t)
	for _, p := range []string{"/workspace/..config/a", "/workspace/...", "/workspace/a..b", "/workspace/.hidden", "/workspace/ lead", "/workspace/trail "} {
		w.mustPut(p, p)
		if got, err := w.get(p); err != nil || got != p {
			t.Errorf("get %q: %q, %v", p, got, err)
		}
		if _, err := os.Lstat(w.path(strings.TrimPrefix(p, "/workspace/"))); err != nil {
			t.Error(err)
		}
	}
}

func TestF3OutsideAndMalformed(t *testing.T) {
	w := newWorld(t)
	for p, code := range map[string]protocol.Code{
		"/workspace/../etc/passwd":      protocol.ErrEscapes,
		"/workspace/a/../../etc/passwd": protocol.ErrEscapes,
		"/workspace//../etc":            protocol.ErrEscapes,
		"/":                             protocol.ErrEscapes,
		"/proc/self/environ":            protocol.ErrEscapes,
		"":                              protocol.ErrInvalid,
		"relative":                      protocol.ErrInvalid,
		"/workspace/a\x00b":             protocol.ErrInvalid,
		"/workspace/dir/":               protocol.ErrInvalid,
		"/workspace/dir/.":              protocol.ErrInvalid,
	} {
		_, err := w.put(p, "x")
		wantCode(t, err, code)
	}
	w.mustPut(`/workspace/..\x`, "a backslash is an ordinary byte")
	w.mustPut("/workspace/%2e%2e%2fx", "and so is a percent sign")
}

func TestF11F12NamesOfAnyBytes(t *testing.T) {
	w := newWorld(t)
	names := []string{"new\nline", "tab\t", "cr\r", `quote'"`, `back\slash`, "-rf", "*", "a b", "😀", "\xff\xfe", "$(touch PWN)", "`id`", ";touch PWN", strings.Repeat("n", 255)}
	for _, name := range names {
		w.mustPut("/workspace/"+name, name)
	}
	entries, err := w.ls("/workspace")
	must(t, err)
	if len(entries) != len(names) {
		t.Fatalf("%d entries, want %d", len(entries), len(names))
	}
	for i, e := range entries {
		if i > 0 && string(entries[i-1].Name) >= string(e.Name) {
			t.Errorf("%q comes before %q", entries[i-1].Name, e.Name)
		}
		if got, err := w.get(string(e.Path)); err != nil || got != string(e.Name) {
			t.Errorf("get %q: %q, %v", e.Path, got, err)
		}
	}
}

func TestF18LongNames(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/"+strings.Repeat("a", 255), "x")
	_, err := w.put("/workspace/"+strings.Repeat("a", 256), "x")
	wantCode(t, err, protocol.ErrInvalid)
	long := "/workspace/" + strings.Repeat("dddddddd/", 452) + strings.Repeat("f", 16)
	long = long[:4095]
	w.mustPut(long, "deep")
	if got, err := w.get(long); err != nil || got != "deep" {
		t.Errorf("get a path of %d bytes: %q, %v", len(long), got, err)
	}
	_, err = w.put("/workspace/"+strings.Repeat("d/", 2500)+"f", "x")
	wantCode(t, err, protocol.ErrInvalid)
}

// FuzzWrite writes to any path through a link of any text: nothing outside the
// workspace may change, and every error has a type.
func FuzzWrite(f *testing.F) {
	for _, seed := range [][2]string{
		{"/workspace/a", "b"}, {"/workspace/link/x", "../../ws-evil"}, {"/workspace/link", "/etc/passwd"},
		{"/workspace/../x", ""}, {"/workspace/link/../canary", "../ws-evil/d"}, {"a\x00", "."},
		{"/workspace/link/link/x", "link"}, {"/workspace/d/link/canary", "/proc/self/root"}, {"/workspace/link", "canary"},
	} {
		f.Add([]byte(seed[0]), seed[1])
	}
	f.Fuzz(func(t *testing.T, raw []byte, target string) {
		if clean, err := parse("fuzz", raw); err == nil && (clean != path.Clean(string(raw)) || clean[0] != '/') {
			t.Errorf("parse %q gives %q", raw, clean)
		}
		w := newWorld(t)
		must(t, os.Mkdir(w.path("d"), 0o755))
		_ = os.Symlink(target, w.path("link"))
		_ = os.Symlink(strings.ReplaceAll(target, "/workspace", w.dir), w.path("d/link"))
		_, err := w.put(string(raw), "changed")
		var typed *protocol.Error
		if err != nil && (!errors.As(err, &typed) || typed.Code == protocol.ErrInternal) {
			t.Errorf("put %q through a link to %q: %v", raw, target, err)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(w.dir), "canary")); err == nil {
			t.Error("wrote beside the workspace")
		}
	})
}
