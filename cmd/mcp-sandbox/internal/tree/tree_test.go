package tree

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// notes remembers what was left out.
type notes struct{ all []string }

func (n *notes) options(o Options) Options {
	o.Skipped = func(name, why string) { n.all = append(n.all, name+": "+why) }
	return o
}

func write(t *testing.T, dir, name, content string, mode fs.FileMode, at time.Time) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o600), os.Chmod(p, mode), os.Chtimes(p, at, at)); err != nil {
		t.Fatal(err)
	}
}

// describe is all of a directory in lines: modes, times, contents, links.
func describe(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		switch {
		case d.IsDir():
			all = append(all, fmt.Sprint(rel, " ", info.Mode(), info.ModTime().UnixNano()))
		case d.Type() == fs.ModeSymlink:
			text, _ := os.Readlink(p)
			all = append(all, rel+" -> "+text)
		default:
			b, err := os.ReadFile(p)
			all = append(all, fmt.Sprintf("%s %v %d %x %v", rel, info.Mode(), info.ModTime().UnixNano(), sha256.Sum256(b), err))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// What goes in comes out, with modes, times to the nanosecond, links and odd names.
func TestRoundTrip(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and names of Unix")
	}
	src, dst := t.TempDir(), t.TempDir()
	at := time.Date(2020, 2, 3, 4, 5, 6, 123456789, time.UTC)
	write(t, src, "a/b/deep.txt", "deep", 0o640, at)
	write(t, src, "run.sh", "#!/bin/sh\n", 0o755, at)
	write(t, src, "read-only/f", strings.Repeat("\x00\xff", 100_000), 0o444, at)
	write(t, src, "\xff odd\nname", "", 0o600, at)
	for text, name := range map[string]string{"deep.txt": "a/b/link", "../a/b": "a/up", "nowhere": "dangling"} {
		if err := os.Symlink(text, filepath.Join(src, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"empty", "a/b", "a"} {
		p := filepath.Join(src, d)
		if err := errors.Join(os.MkdirAll(p, 0o755), os.Chtimes(p, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(src, "read-only"), 0o555), os.Chmod(src, 0o750), os.Chtimes(src, at, at)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.Chmod(filepath.Join(src, "read-only"), 0o755)
		os.Chmod(filepath.Join(dst, "read-only"), 0o755)
	})
	var b bytes.Buffer
	var skipped notes
	o := skipped.options(Options{Top: true})
	if err := Pack(t.Context(), &b, src, o); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(t.Context(), &b, open(t, dst), o); err != nil {
		t.Fatal(err)
	}
	want, got := describe(t, src), describe(t, dst)
	if !slices.Equal(want, got) || len(skipped.all) > 0 {
		t.Errorf("got %q\nwant %q\nskipped %q", got, want, skipped.all)
	}
}

// entries makes a tar of anything.
func entries(t *testing.T, all ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range all {
		if h.Typeflag == tar.TypeReg {
			h.Size = 1
		}
		h.Mode = 0o755
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			io.WriteString(w, "x")
		}
	}
	w.Close()
	return &b
}

func file(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
func dir(name string) tar.Header  { return tar.Header{Typeflag: tar.TypeDir, Name: name} }
func link(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}
func hard(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}
}

// Whatever a tar has in it, nothing is made or changed outside, and no link leads
// there.
func TestHostileTars(t *testing.T) {
	for name, c := range map[string]struct {
		entries []tar.Header
		fails   bool
	}{
		"up":                       {[]tar.Header{file("../f")}, true},
		"up inside":                {[]tar.Header{file("a/../../f")}, true},
		"absolute":                 {[]tar.Header{file("/f")}, true},
		"no name":                  {[]tar.Header{file("")}, true},
		"absolute link":            {[]tar.Header{link("l", "/etc")}, false},
		"link up":                  {[]tar.Header{link("l", "..")}, false},
		"link up from below":       {[]tar.Header{link("a/l", "../../x")}, false},
		"through a link":           {[]tar.Header{link("l", "."), file("l/f")}, true},
		"up after a link":          {[]tar.Header{link("d", "."), link("l", "d/../outside")}, false},
		"under a link":             {[]tar.Header{dir("a"), link("d", "a"), link("d/l", "../../outside")}, true},
		"hard link out":            {[]tar.Header{hard("h", "../outside")}, true},
		"hard link to a link":      {[]tar.Header{file("x"), link("a/b/l", "../../x"), hard("l", "a/b/l")}, false},
		"hard link under a link":   {[]tar.Header{dir("a"), link("l", "a"), hard("h", "l/f")}, true},
		"device":                   {[]tar.Header{{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}, {Typeflag: tar.TypeFifo, Name: "fifo"}}, false},
		"directory becomes a link": {[]tar.Header{dir("d"), link("d", ".."), file("d/f")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			around := t.TempDir()
			write(t, around, "outside", "mine", 0o600, time.Now())
			target := filepath.Join(around, "target")
			if err := os.Mkdir(target, 0o755); err != nil {
				t.Fatal(err)
			}
			var skipped notes
			err := Unpack(t.Context(), entries(t, c.entries...), open(t, target), skipped.options(Options{}))
			if (err != nil) != c.fails {
				t.Errorf("error is %v; skipped %q", err, skipped.all)
			}
			if got, _ := os.ReadDir(around); len(got) != 2 {
				t.Errorf("around it is %v", got)
			}
			if b, _ := os.ReadFile(filepath.Join(around, "outside")); string(b) != "mine" {
				t.Errorf("the file outside has %q", b)
			}
			for _, line := range describe(t, target) {
				p, _, isLink := strings.Cut(line, " -> ")
				if real, err := filepath.EvalSymlinks(filepath.Join(target, p)); isLink && (err != nil || !strings.HasPrefix(real+"/", target+"/")) {
					t.Errorf("%s leads to %s, %v", line, real, err)
				}
			}
		})
	}
}

func TestAllLinks(t *testing.T) {
	target := t.TempDir()
	var skipped notes
	if err := Unpack(t.Context(), entries(t, link("l", "/etc/hostname")), open(t, target), skipped.options(Options{AllLinks: true})); err != nil {
		t.Fatal(err)
	}
	if text, err := os.Readlink(filepath.Join(target, "l")); text != "/etc/hostname" {
		t.Errorf("%q, %v", text, err)
	}
}

// What is there already is replaced, never written through.
func TestOverWhatIsThere(t *testing.T) {
	around := t.TempDir()
	write(t, around, "outside", "mine", 0o600, time.Now())
	target := filepath.Join(around, "target")
	write(t, target, "f", "old", 0o400, time.Now())
	write(t, target, "full/f", "old", 0o600, time.Now())
	if err := os.Symlink("../outside", filepath.Join(target, "l")); err != nil {
		t.Fatal(err)
	}
	var skipped notes
	tarball := entries(t, file("f"), file("l"), file("full"), file("full/g"))
	if err := Unpack(t.Context(), tarball, open(t, target), skipped.options(Options{})); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"outside": "mine", "target/f": "x", "target/l": "x", "target/full/f": "old", "target/full/g": "x"} {
		if b, err := os.ReadFile(filepath.Join(around, name)); string(b) != want {
			t.Errorf("%s has %q, %v", name, b, err)
		}
	}
	if len(skipped.all) != 1 || !strings.HasPrefix(skipped.all[0], "full: ") {
		t.Errorf("skipped %q", skipped.all)
	}
}

// A tar that was cut is an error, wherever it was cut.
func TestCutTar(t *testing.T) {
	whole := entries(t, file("a"), dir("d"), file("d/b")).Bytes()
	for n := range len(whole) / 512 {
		r := io.MultiReader(bytes.NewReader(whole[:n*512]), iotest.ErrReader(io.ErrUnexpectedEOF))
		err := Unpack(t.Context(), r, open(t, t.TempDir()), (&notes{}).options(Options{}))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d blocks: %v", n, err)
		}
	}
}

func TestWhatCannotBePacked(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets and modes of Unix")
	}
	src := t.TempDir()
	write(t, src, "f", "x", 0o600, time.Now())
	if err := os.Symlink("/etc/hostname", filepath.Join(src, "l")); err != nil {
		t.Fatal(err)
	}
	mkfifo(t, filepath.Join(src, "fifo"))
	var skipped notes
	var b bytes.Buffer
	if err := Pack(t.Context(), &b, src, skipped.options(Options{})); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		names = append(names, h.Name+h.Linkname)
	}
	if !slices.Equal(names, []string{"f", "l/etc/hostname"}) || len(skipped.all) != 1 {
		t.Errorf("packed %q, skipped %q", names, skipped.all)
	}
	if err := Pack(t.Context(), io.Discard, filepath.Join(src, "nowhere"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := Pack(ctx, io.Discard, src, skipped.options(Options{})); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
