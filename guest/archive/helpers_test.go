//go:build linux

package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tempDir is like t.TempDir, and can be removed whatever modes are in it.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "archive")
	must(t, err)
	t.Cleanup(func() { removeTree(t, dir) })
	return dir
}

func removeTree(t fataler, dir string) {
	t.Helper()
	must(t, files.RemoveTree(context.Background(), unix.AT_FDCWD, dir))
}

func openForPack(t fataler, dir string) *os.File {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	return os.NewFile(uintptr(fd), dir)
}

func pack(t fataler, dir string, o PackOptions) ([]byte, protocol.ArchiveStats, error) {
	t.Helper()
	d := openForPack(t, dir)
	defer d.Close()
	var buf bytes.Buffer
	stats, err := Pack(context.Background(), d, &buf, o)
	return buf.Bytes(), stats, err
}

func mustPack(t fataler, dir string) []byte {
	t.Helper()
	data, _, err := pack(t, dir, PackOptions{MaxBytes: -1})
	must(t, err)
	return data
}

func unpack(t fataler, dir string, data []byte, o UnpackOptions) (protocol.ArchiveStats, error) {
	t.Helper()
	d := openForPack(t, dir)
	defer d.Close()
	return Unpack(context.Background(), d, bytes.NewReader(data), o)
}

var unbounded = UnpackOptions{MaxBytes: -1, MaxFiles: -1}

// roundTrip packs a tree, extracts it elsewhere, and compares.
func roundTrip(t fataler, dir, to string) {
	t.Helper()
	before := describe(t, dir)
	for _, zstd := range []bool{false, true} {
		data, packed, err := pack(t, dir, PackOptions{Zstd: zstd, MaxBytes: -1})
		must(t, err)
		if diff := cmp.Diff(before, describe(t, dir)); diff != "" {
			t.Fatal("packing changed the tree:\n" + diff)
		}
		stats, err := unpack(t, to, data, UnpackOptions{Zstd: zstd, Replace: true, MaxBytes: packed.Bytes, MaxFiles: packed.Files})
		must(t, err)
		if stats != packed {
			t.Fatal(fmt.Sprintf("unpacked %+v, packed %+v", stats, packed))
		}
		if diff := cmp.Diff(before, describe(t, to)); diff != "" {
			t.Fatal("the tree that came out differs:\n" + diff)
		}
	}
}

// describe tells all that a tar is to keep of a tree, a line an entry.
func describe(t fataler, dir string) []string {
	t.Helper()
	d := describer{t: t, first: map[uint64]string{}}
	d.visit(dir, ".")
	return d.lines
}

type describer struct {
	t     fataler
	lines []string
	first map[uint64]string // inode -> first name
}

func (d *describer) visit(full, name string) {
	d.t.Helper()
	var st unix.Stat_t
	must(d.t, unix.Lstat(full, &st))
	line := fmt.Sprintf("%q %o %d.%09d", name, st.Mode, st.Mtim.Sec, st.Mtim.Nsec)
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && st.Nlink > 1 {
		if first, ok := d.first[st.Ino]; ok {
			line += " = " + first
		} else {
			d.first[st.Ino] = name
		}
	}
	if kind == unix.S_IFDIR || kind == unix.S_IFREG {
		must(d.t, unix.Chmod(full, st.Mode&0o7777|0o700))
		defer func() { must(d.t, unix.Chmod(full, st.Mode&0o7777)) }()
		line += xattrsOf(d.t, full)
	}
	switch kind {
	case unix.S_IFREG:
		content, err := os.ReadFile(full)
		must(d.t, err)
		line += fmt.Sprintf(" %q", content)
	case unix.S_IFLNK:
		target, err := os.Readlink(full)
		must(d.t, err)
		line += fmt.Sprintf(" -> %q", target)
	}
	d.lines = append(d.lines, line)
	if kind == unix.S_IFDIR {
		entries, err := os.ReadDir(full)
		must(d.t, err)
		for _, e := range entries {
			d.visit(filepath.Join(full, e.Name()), name+"/"+e.Name())
		}
	}
}

func xattrsOf(t fataler, full string) string {
	fd, err := unix.Open(full, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	var hdr tar.Header
	must(t, addXattrs(&hdr, fd))
	if len(hdr.PAXRecords) == 0 {
		return ""
	}
	return fmt.Sprintf(" %q", hdr.PAXRecords)
}

func wantCode(t testing.TB, err error, codes ...protocol.Code) {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || !slices.Contains(codes, e.Code) {
		t.Errorf("error is %v; want code %v", err, codes)
	}
}

// tarOf makes a tar of headers; the body of a file is x-es.
func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		if h.Mode == 0 && h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		must(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, strings.Repeat("x", int(h.Size)))
		must(t, err)
	}
	must(t, w.Close())
	return buf.Bytes()
}

func listTar(t testing.TB, data []byte) []*tar.Header {
	t.Helper()
	var headers []*tar.Header
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return headers
		}
		must(t, err)
		headers = append(headers, h)
	}
}

const asUserEnv = "GUEST_TEST_AS_USER"

// asUser runs the calling test again as an ordinary user when it runs as root,
// whom no mode stops. It returns true in the run that is to do the test, whose
// process is not dumpable, as the guest's is not: that closes much of /proc.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		must(t, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
		return true
	}
	if os.Getenv(asUserEnv) != "" {
		t.Fatal("still root")
	}
	dir, err := os.MkdirTemp("", "asuser")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o777))
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	binary := filepath.Join(dir, "test")
	must(t, os.WriteFile(binary, self, 0o755))
	cmd := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asUserEnv+"=1", "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	return false
}
