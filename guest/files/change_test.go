//go:build linux

package files

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func (w *world) mv(from, to string) error {
	_, err := w.Move(protocol.MoveParams{From: []byte(from), To: []byte(to)})
	return err
}

func (w *world) rm(path string, recursive bool) error {
	return w.Delete(context.Background(), protocol.DeleteParams{Path: []byte(path), Recursive: recursive})
}

func TestMove(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/a", "a")
	w.mustPut("/workspace/b", "b")
	w.mustPut("/workspace/d/x", "x")
	must(t, os.Symlink("nowhere", w.path("l")))
	must(t, w.mv("/workspace/a", "/workspace/new/dir/a"))
	must(t, w.mv("/workspace/b", "/workspace/new/dir/a"))
	must(t, w.mv("/workspace/l", "/workspace/d/l"))
	must(t, w.mv("/workspace/d", "/workspace/e"))
	must(t, w.mv("/workspace/e", "/workspace/e"))
	if got := w.slurp(w.path("new/dir/a")); got != "b" {
		t.Errorf("content %q", got)
	}
	if got := w.names(w.path("e")); !slices.Equal(got, []string{"l", "x"}) {
		t.Errorf("e has %q", got)
	}
	w.mustPut("/workspace/f", "f")
	for _, c := range []struct {
		from, to string
		code     protocol.Code
	}{
		{"/workspace/none", "/workspace/made/x", protocol.ErrNotFound},
		{"/workspace/f", "/workspace/e", protocol.ErrExists},
		{"/workspace/e", "/workspace/f", protocol.ErrExists},
		{"/workspace/e", "/workspace/e/made/sub", protocol.ErrInvalid},
		{"/workspace", "/workspace/x", protocol.ErrInvalid},
		{"/workspace/f", "/workspace", protocol.ErrInvalid},
		{"/workspace/f", "/workspace/e/x/y", protocol.ErrWrongType},
		{"/etc/passwd", "/workspace/x", protocol.ErrEscapes},
	} {
		wantCode(t, w.mv(c.from, c.to), c.code)
	}
	if got := w.names(w.dir); !slices.Equal(got, []string{"e", "f", "new"}) {
		t.Errorf("workspace has %q", got)
	}
}

func TestMoveBetweenNamesOfOneFile(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/a", "x")
	must(t, os.Link(w.path("a"), w.path("b")))
	must(t, w.mv("/workspace/a", "/workspace/a"))
	must(t, w.mv("/workspace/a", "/workspace/b"))
	if got := w.names(w.dir); !slices.Equal(got, []string{"b"}) {
		t.Errorf("workspace has %q", got)
	}
}

func TestMkdir(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/f", "x")
	must(t, os.Symlink("real", w.path("l")))
	for _, p := range []string{"/workspace/a/b/c", "/workspace/a/b/c", "/workspace/a/", "/workspace", "/workspace/real", "/workspace/l"} {
		info, err := w.Mkdir(protocol.MkdirParams{Path: []byte(p)})
		if err != nil || info.Type != protocol.TypeDirectory {
			t.Errorf("mkdir %s: %+v, %v", p, info, err)
		}
	}
	_, err := w.Mkdir(protocol.MkdirParams{Path: []byte("/workspace/f")})
	wantCode(t, err, protocol.ErrExists)
	_, err = w.Mkdir(protocol.MkdirParams{Path: []byte("/workspace/f/x")})
	wantCode(t, err, protocol.ErrWrongType)
}

func TestDelete(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/d/e/f", "x")
	must(t, os.Symlink(w.out, w.path("d/out")))
	must(t, os.Symlink("d", w.path("l")))
	must(t, os.Mkdir(w.path("empty"), 0o755))
	wantCode(t, w.rm("/workspace/d", false), protocol.ErrNotEmpty)
	wantCode(t, w.rm("/workspace/none", true), protocol.ErrNotFound)
	wantCode(t, w.rm("/workspace/none/x", false), protocol.ErrNotFound)
	wantCode(t, w.rm("/workspace", true), protocol.ErrInvalid)
	wantCode(t, w.rm("/workspace/d/e/f/x", true), protocol.ErrWrongType)
	must(t, w.rm("/workspace/empty", false))
	must(t, w.rm("/workspace/l", true))
	if got := w.names(w.dir); !slices.Equal(got, []string{"d"}) {
		t.Errorf("workspace has %q", got)
	}
	must(t, w.rm("/workspace/d", true))
	if got := w.names(w.dir); len(got) != 0 {
		t.Errorf("workspace has %q", got)
	}
}

func TestG5DeleteOfClosedTree(t *testing.T) {
	if !asUser(t) {
		return
	}
	w := newWorld(t)
	w.mustPut("/workspace/ro/sub/f", "x")
	w.mustPut("/workspace/ro/none/f", "x")
	must(t, os.Chmod(w.path("ro/sub/f"), 0o444))
	must(t, os.Chmod(w.path("ro/sub"), 0o555))
	must(t, os.Chmod(w.path("ro/none"), 0))
	must(t, os.Chmod(w.path("ro"), 0o555))
	wantCode(t, w.rm("/workspace/ro/sub/f", false), protocol.ErrPermission)
	must(t, w.rm("/workspace/ro", true))
	if got := w.names(w.dir); len(got) != 0 {
		t.Errorf("workspace has %q", got)
	}
}

func TestF8PermissionErrors(t *testing.T) {
	if !asUser(t) {
		return
	}
	w := newWorld(t)
	w.mustPut("/workspace/secret", "x")
	must(t, os.Chmod(w.path("secret"), 0))
	w.mustPut("/workspace/d/f", "x")
	must(t, os.Chmod(w.path("d"), 0o311)) // may be entered and changed, not read
	_, err := w.get("/workspace/secret")
	wantCode(t, err, protocol.ErrPermission)
	_, err = w.ls("/workspace/d")
	wantCode(t, err, protocol.ErrPermission)
	w.mustPut("/workspace/d/new", "y")
	if got, err := w.get("/workspace/d/new"); err != nil || got != "y" {
		t.Errorf("%q, %v", got, err)
	}
	must(t, os.Chmod(w.path("d"), 0o555))
	_, err = w.put("/workspace/d/f", "z")
	wantCode(t, err, protocol.ErrPermission)
	_, err = w.get("/etc/shadow")
	wantCode(t, err, protocol.ErrPermission, protocol.ErrNotFound)
	must(t, os.Chmod(w.path("d"), 0o755))
}

func TestF15WorkspaceClosedOrEmptied(t *testing.T) {
	if !asUser(t) {
		return
	}
	w := newWorld(t)
	w.mustPut("/workspace/f", "x")
	must(t, os.Chmod(w.dir, 0))
	soon(t, func() {
		_, err := w.put("/workspace/f", "y")
		wantCode(t, err, protocol.ErrPermission)
		_, err = w.get("/workspace/f")
		wantCode(t, err, protocol.ErrPermission)
		_, err = w.ls("/workspace")
		wantCode(t, err, protocol.ErrPermission)
		_, err = w.Mkdir(protocol.MkdirParams{Path: []byte("/workspace/d")})
		wantCode(t, err, protocol.ErrPermission)
		wantCode(t, w.rm("/workspace/f", true), protocol.ErrPermission)
		wantCode(t, w.mv("/workspace/f", "/workspace/g"), protocol.ErrPermission)
		if _, err := w.Stat(protocol.StatParams{Path: []byte("/workspace")}); err != nil {
			t.Error(err)
		}
	})
	must(t, os.Chmod(w.dir, 0o755))
	w.mustPut("/workspace/f", "y")
	must(t, os.RemoveAll(w.dir))
	_, err := w.put("/workspace/f", "y")
	wantCode(t, err, protocol.ErrNotFound)
	must(t, os.Mkdir(w.dir, 0o755))
	w.mustPut("/workspace/f", "y")
}
