//go:build linux

package files

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func TestD2BytesComeBackAsTheyWere(t *testing.T) {
	w := newWorld(t)
	data := make([]byte, 1<<20, 1<<20+256)
	_, _ = rand.Read(data)
	for b := range 256 {
		data = append(data, byte(b))
	}
	info := w.mustPut("/workspace/bin", string(data))
	got, err := w.get("/workspace/bin")
	must(t, err)
	if sha256.Sum256([]byte(got)) != sha256.Sum256(data) || info.Size != int64(len(data)) {
		t.Error("content differs")
	}
}

func TestReadPart(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/f", "0123456789")
	for _, c := range []struct {
		offset, length int64
		want           string
	}{{0, -1, "0123456789"}, {3, 4, "3456"}, {8, 100, "89"}, {10, -1, ""}, {99, 5, ""}, {4, 0, ""}, {1 << 62, 1 << 62, ""}} {
		_, body, err := w.Read(protocol.ReadParams{Path: []byte("/workspace/f"), Offset: c.offset, Length: c.length})
		must(t, err)
		got, err := io.ReadAll(body)
		body.Close()
		if err != nil || string(got) != c.want {
			t.Errorf("%d+%d: %q, %v; want %q", c.offset, c.length, got, err, c.want)
		}
	}
	_, _, err := w.Read(protocol.ReadParams{Path: []byte("/workspace/f"), Offset: -1})
	wantCode(t, err, protocol.ErrInvalid)
	_, err = w.get("/workspace/none")
	wantCode(t, err, protocol.ErrNotFound)
}

// A read is of one size: growing adds nothing, shrinking is an error.
func TestD8FileThatChangesWhileRead(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/f", strings.Repeat("x", 1000))
	_, body, err := w.Read(protocol.ReadParams{Path: []byte("/workspace/f"), Length: -1})
	must(t, err)
	must(t, os.Truncate(w.path("f"), 2000))
	if got, err := io.ReadAll(body); err != nil || len(got) != 1000 {
		t.Errorf("grown: %d bytes, %v", len(got), err)
	}
	body.Close()
	_, body, err = w.Read(protocol.ReadParams{Path: []byte("/workspace/f"), Length: -1})
	must(t, err)
	defer body.Close()
	must(t, os.Truncate(w.path("f"), 10))
	if _, err := io.ReadAll(body); err != io.ErrUnexpectedEOF {
		t.Errorf("shrunk: %v, want unexpected EOF", err)
	}
}

func TestE5EnormousFile(t *testing.T) {
	w := newWorld(t)
	must(t, os.WriteFile(w.path("big"), nil, 0o644))
	must(t, os.Truncate(w.path("big"), 20<<30))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			info, body, err := w.Read(protocol.ReadParams{Path: []byte("/workspace/big"), Length: -1})
			if err != nil || info.Size != 20<<30 {
				t.Errorf("size %d, %v", info.Size, err)
				return
			}
			defer body.Close()
			if _, err := io.CopyN(io.Discard, body, 1<<20); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 50<<20 {
		t.Errorf("%d bytes allocated", used)
	}
}

func TestF6SpecialFilesNeverHang(t *testing.T) {
	w := newWorld(t)
	must(t, unix.Mkfifo(w.path("p"), 0o666))
	socket, err := net.Listen("unix", w.path("s"))
	must(t, err)
	defer socket.Close()
	must(t, os.Mkdir(w.path("d"), 0o755))
	w.mustPut("/workspace/f", "x")
	must(t, os.Symlink("p", w.path("to-p")))
	soon(t, func() {
		for _, p := range []string{"/workspace/p", "/workspace/s", "/workspace/d", "/workspace/to-p", "/dev/null", "/dev/tty", "/", "/workspace"} {
			_, err := w.get(p)
			wantCode(t, err, protocol.ErrWrongType)
		}
		for _, p := range []string{"p", "s", "d", "to-p"} {
			_, err := w.put("/workspace/"+p, "x")
			wantCode(t, err, protocol.ErrWrongType)
		}
		for _, p := range []string{"f", "p", "s", "p/x", "f/x"} {
			_, err := w.ls("/workspace/" + p)
			wantCode(t, err, protocol.ErrWrongType)
			_, err = w.put("/workspace/"+p+"/y", "x")
			wantCode(t, err, protocol.ErrWrongType)
		}
	})
	entries, err := w.ls("/workspace")
	must(t, err)
	got := ""
	for _, e := range entries {
		got += fmt.Sprintf("%s:%s ", e.Name, e.Type)
	}
	if want := "d:directory f:file p:other s:other to-p:symlink "; got != want {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestStat(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/f", "12345")
	must(t, os.Chmod(w.path("f"), 0o751|os.ModeSetuid))
	when := time.Unix(-12345, 678).UTC()
	must(t, os.Chtimes(w.path("f"), when, when))
	info, err := w.Stat(protocol.StatParams{Path: []byte("/workspace//x/../f")})
	must(t, err)
	if string(info.Path) != "/workspace/f" || string(info.Name) != "f" || info.Size != 5 ||
		info.Mode != 0o4751 || !info.ModTime.Equal(when) || info.Type != protocol.TypeFile {
		t.Errorf("got %+v", info)
	}
	for p, code := range map[string]protocol.Code{"/workspace/none": protocol.ErrNotFound, "/workspace/f/x": protocol.ErrWrongType, "": protocol.ErrInvalid} {
		_, err := w.Stat(protocol.StatParams{Path: []byte(p)})
		wantCode(t, err, code)
	}
	for _, p := range []string{"/", "/workspace", "/workspace/.", "/etc/passwd"} {
		if _, err := w.Stat(protocol.StatParams{Path: []byte(p)}); err != nil {
			t.Error(err)
		}
	}
}

func TestE6ListingOfManyEntries(t *testing.T) {
	w := newFastWorld(t)
	const n = 100000
	for i := range n {
		fd, err := unix.Open(filepath.Join(w.dir, fmt.Sprintf("f%06d", i)), unix.O_CREAT|unix.O_CLOEXEC, 0o644)
		must(t, err)
		unix.Close(fd)
	}
	start := time.Now()
	seen, after, pages := 0, []byte(nil), 0
	for {
		r, err := w.List(protocol.ListParams{Path: []byte("/workspace"), Limit: 10000, After: after})
		must(t, err)
		for i, e := range r.Entries {
			if want := fmt.Sprintf("f%06d", seen+i); string(e.Name) != want {
				t.Fatalf("entry %d is %s", seen+i, e.Name)
			}
		}
		seen, pages = seen+len(r.Entries), pages+1
		if !r.More {
			break
		}
		after = r.Entries[len(r.Entries)-1].Name
	}
	if seen != n || pages != 10 {
		t.Errorf("%d entries in %d pages", seen, pages)
	}
	t.Logf("%d pages in %v", pages, time.Since(start))
	first, err := w.List(protocol.ListParams{Path: []byte("/workspace"), Limit: 3})
	if err != nil || len(first.Entries) != 3 || !first.More {
		t.Errorf("first page: %d entries, more %v, %v", len(first.Entries), first.More, err)
	}
	must(t, w.Delete(context.Background(), protocol.DeleteParams{Path: []byte("/workspace/f000001")}))
}

// What is said of a file that was to be listed names what callers can do.
func TestListOfAFileSaysWhatToDo(t *testing.T) {
	w := newWorld(t)
	w.mustPut("/workspace/f", "x")
	_, err := w.ls("/workspace/f")
	wantCode(t, err, protocol.ErrWrongType)
	if text := err.Error(); !strings.Contains(text, "not a directory; read it, or list the directory it is in") {
		t.Errorf("it says %q", text)
	}
}
