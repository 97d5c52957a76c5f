//go:build linux

package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func TestG8SparseFileFailsAtOnce(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/s", "x")
	must(t, os.Truncate(dir+"/s", 20<<30))
	start := time.Now()
	data, _, err := pack(t, dir, PackOptions{Zstd: true, MaxBytes: 1 << 30})
	wantCode(t, err, protocol.ErrTooLarge)
	if took := time.Since(start); took > 2*time.Second || len(data) > 1<<20 {
		t.Errorf("took %v and wrote %d bytes", took, len(data))
	}
}

func TestMaxBytesIsExact(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/f", strings.Repeat("x", 1000))
	data, stats, err := pack(t, dir, PackOptions{MaxBytes: -1})
	must(t, err)
	if stats.Bytes != int64(len(data)) || stats.Files != 1 {
		t.Errorf("%+v for %d bytes", stats, len(data))
	}
	_, _, err = pack(t, dir, PackOptions{MaxBytes: stats.Bytes})
	must(t, err)
	_, _, err = pack(t, dir, PackOptions{MaxBytes: stats.Bytes - 1})
	wantCode(t, err, protocol.ErrTooLarge)
}

// A check counts what packing writes, a file with several names once.
func TestCheckCountsEverything(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/f", strings.Repeat("x", 100_000))
	must(t, os.Link(dir+"/f", dir+"/hard"))
	must(t, os.Symlink("f", dir+"/soft"))
	must(t, os.Mkdir(dir+"/"+strings.Repeat("long", 50), 0o700))
	write(t, dir+"/closed", "x")
	must(t, os.Chmod(dir+"/closed", 0))
	data, stats, err := pack(t, dir, PackOptions{MaxBytes: -1})
	must(t, err)
	checked, _, err := pack(t, dir, PackOptions{MaxBytes: stats.Bytes, Check: true})
	must(t, err)
	if !slices.Equal(checked, data) {
		t.Error("another tar with a check before it")
	}
	data, _, err = pack(t, dir, PackOptions{MaxBytes: 100_000, Check: true})
	wantCode(t, err, protocol.ErrTooLarge)
	if len(data) > 0 {
		t.Errorf("%d bytes before the error", len(data))
	}
}

func TestG11FileOverEightGiB(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/s", "x")
	must(t, os.Truncate(dir+"/s", 9<<30))
	d := openForPack(t, dir)
	defer d.Close()
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := Pack(context.Background(), d, w, PackOptions{MaxBytes: -1})
		done <- err
	}()
	headers := tar.NewReader(r)
	_, err := headers.Next()
	must(t, err)
	h, err := headers.Next()
	must(t, err)
	if h.Name != "s" || h.Size != 9<<30 {
		t.Errorf("%s has size %d", h.Name, h.Size)
	}
	r.Close() // the rest is zeros, and slow
	if err := <-done; err == nil {
		t.Error("no error though nobody reads")
	}
}

// Whatever others do to the tree meanwhile, the tar can be extracted.
func TestG9G10TreeThatChanges(t *testing.T) {
	dir := tempDir(t)
	for i := range 50 {
		write(t, fmt.Sprintf("%s/still/%d", dir, i), strings.Repeat("s", 1000*i))
	}
	write(t, dir+"/log", "")
	write(t, dir+"/t", "")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { disturb(dir, stop) })
	defer wg.Wait()
	defer close(stop)
	for range 10 {
		data, _, err := pack(t, dir, PackOptions{Zstd: true, MaxBytes: -1})
		must(t, err)
		to := tempDir(t)
		_, err = unpack(t, to, data, UnpackOptions{Zstd: true, MaxBytes: -1, MaxFiles: -1})
		must(t, err)
		if !slices.Equal(describe(t, dir+"/still"), describe(t, to+"/still")) {
			t.Error("what nobody touched differs")
		}
	}
}

// disturb makes files grow, shrink, come, go and change into other things.
func disturb(dir string, stop chan struct{}) {
	big := []byte(strings.Repeat("g", 100000))
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		if f, err := os.OpenFile(dir+"/log", os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = f.Write(big)
			f.Close()
		}
		_ = os.Truncate(dir+"/t", int64(i%7)*50000)
		if i%20 == 0 {
			_ = os.Truncate(dir+"/log", 0)
		}
		name := fmt.Sprintf("%s/come%d", dir, i%30)
		switch i % 4 {
		case 0:
			_ = os.WriteFile(name, big[:i%1000], 0o644)
		case 1:
			_ = os.RemoveAll(fmt.Sprintf("%s/come%d", dir, (i-1)%30))
		case 2:
			_ = os.Mkdir(name, 0o755)
		case 3:
			_ = os.Symlink("t", name)
		}
	}
}

// A file that shrinks after its header was written is filled up with zeros.
func TestG9ShrunkFileIsPadded(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/f", strings.Repeat("x", 1<<20))
	write(t, dir+"/g", "after")
	d := openForPack(t, dir)
	defer d.Close()
	var data []byte
	_, err := Pack(context.Background(), d, writerFunc(func(p []byte) (int, error) {
		if len(data) == 0 {
			must(t, os.Truncate(dir+"/f", 400<<10))
		}
		data = append(data, p...)
		return len(p), nil
	}), PackOptions{MaxBytes: -1})
	must(t, err)
	to := tempDir(t)
	_, err = unpack(t, to, data, unbounded)
	must(t, err)
	got, err := os.ReadFile(to + "/f")
	must(t, err)
	if len(got) != 1<<20 || strings.TrimRight(string(got), "\x00") != strings.Repeat("x", 400<<10) {
		t.Errorf("%d bytes", len(got))
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestSameTreeSameTar(t *testing.T) {
	dir := tempDir(t)
	for i := range 300 {
		write(t, fmt.Sprintf("%s/d%d/f%d", dir, i%17, i), "x")
	}
	first := mustPack(t, dir)
	if !slices.Equal(first, mustPack(t, dir)) {
		t.Error("two tars of one tree differ")
	}
	to := tempDir(t)
	_, err := unpack(t, to, first, unbounded)
	must(t, err)
	if !slices.Equal(first, mustPack(t, to)) {
		t.Error("the tar of what was extracted differs")
	}
}

func TestMountsAreNotEntered(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.OrFail(t, "mounting needs root")
	}
	dir := tempDir(t)
	must(t, os.Mkdir(dir+"/m", 0o755))
	if err := unix.Mount("tmpfs", dir+"/m", "tmpfs", 0, "size=1m"); err != nil {
		skip.OrFail(t, "mount tmpfs: "+err.Error())
	}
	defer func() { must(t, unix.Unmount(dir+"/m", 0)) }()
	write(t, dir+"/m/f", "elsewhere")
	var names []string
	for _, h := range listTar(t, mustPack(t, dir)) {
		names = append(names, h.Name)
	}
	if !slices.Equal(names, []string{"./", "m/"}) {
		t.Errorf("tar has %q", names)
	}
}

func TestCancelEndsBothSoon(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/s", "x")
	must(t, os.Truncate(dir+"/s", 1<<40))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	d := openForPack(t, dir)
	defer d.Close()
	start := time.Now()
	if _, err := Pack(ctx, d, io.Discard, PackOptions{MaxBytes: -1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("pack: %v", err)
	}
	to := openForPack(t, tempDir(t))
	defer to.Close()
	endless := io.MultiReader(strings.NewReader(rawHeader("f", '0', 1<<40)), zeros{})
	if _, err := Unpack(ctx, to, endless, unbounded); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("unpack: %v", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.OrFail(t, "mounting a tmpfs needs root")
	}
	dir := tempDir(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		skip.OrFail(t, "mount tmpfs: "+err.Error())
	}
	defer func() { must(t, unix.Unmount(dir, 0)) }()
	_, err := unpack(t, dir, tarOf(t, file("f", 1<<20)), unbounded)
	wantCode(t, err, protocol.ErrNoSpace)
}

// One directory of very many files must fit beside a sandbox's programs.
func TestG16MemoryOfManyFiles(t *testing.T) {
	n := 30000
	if testing.Short() {
		n = 5000
	}
	dir, err := os.MkdirTemp("/dev/shm", "archive")
	if err != nil {
		dir = tempDir(t)
	}
	defer removeTree(t, dir)
	for i := range n {
		fd, err := unix.Open(fmt.Sprintf("%s/f%06d", dir, i), unix.O_CREAT|unix.O_CLOEXEC, 0o644)
		must(t, err)
		unix.Close(fd)
	}
	d := openForPack(t, dir)
	defer d.Close()
	peak := watchHeap()
	stats, err := Pack(context.Background(), d, io.Discard, PackOptions{Zstd: true, MaxBytes: -1})
	must(t, err)
	if used := peak(); stats.Files != int64(n) || used > 32<<20 {
		t.Errorf("%d files took %d MiB", stats.Files, used>>20)
	} else {
		t.Logf("%d files took %d KiB", stats.Files, used>>10)
	}
}

// watchHeap gives a function that tells how much the heap grew at most.
func watchHeap() func() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc-min(before, m.HeapAlloc))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); <-stopped; return peak }
}
