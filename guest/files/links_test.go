//go:build linux

package files

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func TestF4LinksThatLeadOutside(t *testing.T) {
	w := newWorld(t)
	must(t, os.Symlink(w.out, w.path("e")))
	must(t, os.Symlink("../ws-evil", w.path("r")))
	must(t, os.Symlink(filepath.Join(w.out, "canary"), w.path("p")))
	must(t, os.Symlink("e", w.path("f")))
	must(t, os.Symlink("/proc/1/environ", w.path("q")))
	for _, name := range []string{"e/canary", "e/new", "e/d/new", "r/canary", "r/new", "p", "f/canary", "f/new", "q"} {
		_, err := w.put("/workspace/"+name, "changed")
		wantCode(t, err, protocol.ErrEscapes)
		_, err = w.Mkdir(protocol.MkdirParams{Path: []byte("/workspace/" + name)})
		wantCode(t, err, protocol.ErrEscapes)
		_, err = w.OpenTarget([]byte("/workspace/" + name))
		wantCode(t, err, protocol.ErrEscapes)
	}
	wantCode(t, w.Delete(context.Background(), protocol.DeleteParams{Path: []byte("/workspace/e/canary")}), protocol.ErrEscapes)
	_, err := w.Move(protocol.MoveParams{From: []byte("/workspace/e/canary"), To: []byte("/workspace/x")})
	wantCode(t, err, protocol.ErrEscapes)
	w.mustPut("/workspace/own", "x")
	_, err = w.Move(protocol.MoveParams{From: []byte("/workspace/own"), To: []byte("/workspace/f/x")})
	wantCode(t, err, protocol.ErrEscapes)

	if got, err := w.get("/workspace/f/canary"); err != nil || got != "canary" {
		t.Errorf("a read may follow links anywhere, but: %q, %v", got, err)
	}
	entries, err := w.ls("/workspace")
	must(t, err)
	for _, e := range entries {
		if string(e.Name) == "e" && (e.Type != protocol.TypeSymlink || string(e.LinkTarget) != w.out) {
			t.Errorf("e is listed as %+v", e)
		}
	}
}

func TestWriteThroughLinksThatStayInside(t *testing.T) {
	w := newWorld(t)
	must(t, os.MkdirAll(w.path("real/sub"), 0o755))
	must(t, os.Symlink("real", w.path("rel")))
	must(t, os.Symlink(w.path("real"), w.path("abs")))
	must(t, os.Symlink("../rel/sub", w.path("real/back")))
	must(t, os.Symlink("abs/sub/../made", w.path("dangling")))
	must(t, os.Symlink(w.dir, w.path("self")))
	for name, lands := range map[string]string{
		"rel/1":         "real/1",
		"abs/2":         "real/2",
		"abs/back/3":    "real/sub/3",
		"dangling":      "real/made",
		"self/self/4":   "4",
		"rel/new/dir/5": "real/new/dir/5",
	} {
		w.mustPut("/workspace/"+name, name)
		if got := w.slurp(w.path(lands)); got != name {
			t.Errorf("%s: %s has %q", name, lands, got)
		}
	}
	if st, err := os.Lstat(w.path("dangling")); err != nil || st.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link itself was replaced: %v, %v", st, err)
	}
}

func TestLinkLoops(t *testing.T) {
	w := newWorld(t)
	must(t, os.Symlink("b", w.path("a")))
	must(t, os.Symlink("a", w.path("b")))
	must(t, os.Symlink("up/../up/..", w.path("up")))
	for _, name := range []string{"a", "a/x", "up/x"} {
		_, err := w.put("/workspace/"+name, "x")
		wantCode(t, err, protocol.ErrInvalid)
		_, err = w.get("/workspace/" + name)
		wantCode(t, err, protocol.ErrInvalid)
	}
	info, err := w.Stat(protocol.StatParams{Path: []byte("/workspace/a")})
	if err != nil || info.Type != protocol.TypeSymlink || string(info.LinkTarget) != "b" {
		t.Errorf("stat of a looping link: %+v, %v", info, err)
	}
}

// A directory that turns into a link and back must never let a write out.
func TestSwappedDirectory(t *testing.T) {
	w := newFastWorld(t)
	must(t, os.Mkdir(w.path("d"), 0o755))
	must(t, os.Symlink(w.out, w.path("l")))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(w.path("d"), w.path("x"))
				_ = os.Rename(w.path("l"), w.path("d"))
				_ = os.Rename(w.path("d"), w.path("l"))
				_ = os.Rename(w.path("x"), w.path("d"))
			}
		}
	})
	for range 1000 {
		_, _ = w.put("/workspace/d/f", "x")
		_ = w.Delete(context.Background(), protocol.DeleteParams{Path: []byte("/workspace/d/canary")})
		_, _ = w.Mkdir(protocol.MkdirParams{Path: []byte("/workspace/d/m")})
	}
	close(stop)
	wg.Wait()
}
