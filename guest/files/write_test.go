//go:build linux

package files

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func TestD9OverwriteLeavesNoTail(t *testing.T) {
	w := newWorld(t)
	for _, size := range []int{1 << 20, 10, 0} {
		w.mustPut("/workspace/f", strings.Repeat("x", size))
		if got := w.slurp(w.path("f")); len(got) != size {
			t.Errorf("size %d, want %d", len(got), size)
		}
	}
	if got := w.names(w.dir); !slices.Equal(got, []string{"f"}) {
		t.Errorf("workspace has %q", got)
	}
}

func TestF7WriteMakesFilesNotDirectories(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/new/deep/m.txt", "1")
	w.mustPut("/workspace/new/deep/m.txt", "2")
	if got := w.slurp(w.path("new/deep/m.txt")); got != "2" {
		t.Errorf("content %q", got)
	}
	for p, code := range map[string]protocol.Code{
		"/workspace/new":              protocol.ErrWrongType,
		"/workspace":                  protocol.ErrWrongType,
		"/workspace/new/deep/m.txt/y": protocol.ErrWrongType,
		"/workspace/new/other/":       protocol.ErrInvalid,
	} {
		_, err := w.put(p, "x")
		wantCode(t, err, code)
	}
	if got := w.names(w.path("new")); !slices.Equal(got, []string{"deep"}) {
		t.Errorf("new has %q", got)
	}
}

// Modes hold whatever the umask is, and an overwrite keeps them.
func TestF8Modes(t *testing.T) {
	old := unix.Umask(0o777)
	defer unix.Umask(old)
	w := newWorldWithUmask(t, old)
	mode := uint32(0o640)
	w.mustPut("/workspace/a/b/f", "x")
	wantMode(t, w.path("a"), 0o755)
	wantMode(t, w.path("a/b"), 0o755)
	wantMode(t, w.path("a/b/f"), 0o644)
	must(t, os.Chmod(w.path("a/b/f"), 0o755|os.ModeSetuid))
	w.mustPut("/workspace/a/b/f", "y")
	wantMode(t, w.path("a/b/f"), 0o755)
	_, err := w.Write(context.Background(), protocol.WriteParams{Path: []byte("/workspace/a/b/f"), Mode: &mode, MaxBytes: -1}, strings.NewReader("z"))
	must(t, err)
	wantMode(t, w.path("a/b/f"), 0o640)
	sticky := uint32(0o1770)
	_, err = w.Mkdir(protocol.MkdirParams{Path: []byte("/workspace/m/n"), Mode: &sticky})
	must(t, err)
	wantMode(t, w.path("m"), 0o755)
	wantMode(t, w.path("m/n"), 0o1770)
}

func newWorldWithUmask(t *testing.T, umask int) *world {
	defer unix.Umask(unix.Umask(umask))
	return newWorld(t)
}

func wantMode(t *testing.T, path string, mode uint32) {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	if st.Mode&0o7777 != mode {
		t.Errorf("%s has mode %o, want %o", path, st.Mode&0o7777, mode)
	}
}

func TestF14CutOffBodyChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/f", "good")
	cut := func() io.Reader {
		return io.MultiReader(strings.NewReader(strings.Repeat("x", 300000)), iotest.ErrReader(io.ErrUnexpectedEOF))
	}
	for _, p := range []string{"/workspace/f", "/workspace/new", "/workspace/new/dir/g"} {
		_, err := w.Write(context.Background(), protocol.WriteParams{Path: []byte(p), MaxBytes: -1}, cut())
		wantCode(t, err, protocol.ErrInvalid)
		_, err = w.Write(context.Background(), protocol.WriteParams{Path: []byte(p), MaxBytes: 299999}, strings.NewReader(strings.Repeat("x", 300000)))
		wantCode(t, err, protocol.ErrTooLarge)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = w.Write(ctx, protocol.WriteParams{Path: []byte(p), MaxBytes: -1}, strings.NewReader("x"))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
	if got := w.names(w.dir); !slices.Equal(got, []string{"f"}) || w.slurp(w.path("f")) != "good" {
		t.Errorf("workspace has %q", got)
	}
	_, err := w.Write(context.Background(), protocol.WriteParams{Path: []byte("/workspace/f"), MaxBytes: 3}, strings.NewReader("abc"))
	must(t, err)
}

// The draft gets its name by way of /proc/self/fd, as the guest's user too.
func TestWriteAsUser(t *testing.T) {
	if asUser(t) {
		TestD9OverwriteLeavesNoTail(t)
		TestF8Modes(t)
	}
}

// Where O_TMPFILE does not work, the draft has a name until it is whole.
func TestNamedDraft(t *testing.T) {
	w := newWorld(t)
	dir, err := openDir(unix.AT_FDCWD, w.dir)
	must(t, err)
	defer unix.Close(dir)
	w.mustPut("/workspace/f", "old")
	for _, publishIt := range []bool{false, true} {
		d, err := newNamedDraft(dir)
		must(t, err)
		must(t, d.fill(strings.NewReader("new")))
		if publishIt {
			must(t, d.publish(dir, "f"))
		}
		d.discard()
		if got := w.names(w.dir); !slices.Equal(got, []string{"f"}) {
			t.Errorf("workspace has %q", got)
		}
	}
	if got := w.slurp(w.path("f")); got != "new" {
		t.Errorf("content %q", got)
	}
	must(t, os.Mkdir(w.path("d"), 0o755))
	d, err := newNamedDraft(dir)
	must(t, err)
	if err := d.publish(dir, "d"); err == nil {
		t.Error("replaced a directory")
	}
	d.discard()
	if got := w.names(w.dir); !slices.Equal(got, []string{"d", "f"}) {
		t.Errorf("workspace has %q", got)
	}
}

// Readers see one whole version or another, whoever writes meanwhile.
func TestConcurrentWritesAreWhole(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/d/f", strings.Repeat("0", 100000))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := w.put("/workspace/d/f", strings.Repeat(string(rune('1'+i)), 100000)); err != nil {
					t.Error(err)
				}
				got, err := w.get("/workspace/d/f")
				if err != nil || strings.Count(got, got[:1]) != 100000 {
					t.Errorf("mixed content or %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := w.names(w.path("d")); !slices.Equal(got, []string{"f"}) {
		t.Errorf("directory has %q", got)
	}
}

func TestCommitHook(t *testing.T) {
	w := newWorld(t)
	calls, open := 0, false
	w.Commit = func(change func() error) error {
		calls, open = calls+1, true
		defer func() { open = false }()
		return change()
	}
	body := iotest.ErrReader(io.EOF)
	_, err := w.Write(context.Background(), protocol.WriteParams{Path: []byte("/workspace/f"), MaxBytes: -1}, readerFunc(func(p []byte) (int, error) {
		if open {
			t.Error("the body is read inside the hook")
		}
		return body.Read(p)
	}))
	must(t, err)
	_, err = w.Mkdir(protocol.MkdirParams{Path: []byte("/workspace/d")})
	must(t, err)
	_, err = w.Move(protocol.MoveParams{From: []byte("/workspace/f"), To: []byte("/workspace/d/f")})
	must(t, err)
	must(t, w.Delete(context.Background(), protocol.DeleteParams{Path: []byte("/workspace/d"), Recursive: true}))
	if calls != 4 {
		t.Errorf("%d commits, want 4", calls)
	}
	stop := errors.New("stop")
	w.Commit = func(func() error) error { return stop }
	_, err = w.put("/workspace/g", "x")
	wantCode(t, err, protocol.ErrInternal)
	if got := w.names(w.dir); len(got) != 0 {
		t.Errorf("workspace has %q", got)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.OrFail(t, "mounting a tmpfs needs root")
	}
	w := newWorld(t)
	if err := unix.Mount("tmpfs", w.dir, "tmpfs", 0, "size=64k"); err != nil {
		skip.OrFail(t, "mount tmpfs: "+err.Error())
	}
	defer func() { must(t, syscall.Unmount(w.dir, 0)) }()
	w.mustPut("/workspace/f", "old")
	for _, p := range []string{"/workspace/f", "/workspace/new/f"} {
		_, err := w.put(p, strings.Repeat("x", 1<<20))
		wantCode(t, err, protocol.ErrNoSpace)
	}
	if got := w.names(w.dir); !slices.Equal(got, []string{"f"}) || w.slurp(w.path("f")) != "old" {
		t.Errorf("workspace has %q", got)
	}
	w.mustPut("/workspace/small", "works again")
}
