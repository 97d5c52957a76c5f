package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// put makes files here.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// files are what is in a directory here.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A file keeps its bytes, mode and time both ways, also one that is larger than
// what a call reads.
func TestCopyFile(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	dir := t.TempDir()
	content := make([]byte, 300_000)
	rand.NewChaCha8([32]byte{}).Read(content)
	at := time.Date(2021, 2, 3, 4, 5, 6, 123456789, time.UTC)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.WriteFile(a, content, 0o600), os.Chmod(a, 0o751), os.Chtimes(a, at, at)); err != nil {
		t.Fatal(err)
	}
	u.run("cp", a, id+":sub/f").says("")
	put(t, dir, map[string]string{"b": "was there"})
	u.run("cp", id+":sub/f", b).says("")
	info, err := os.Stat(b)
	if err != nil || info.Mode().Perm() != 0o751 || !info.ModTime().Equal(at) {
		t.Errorf("%v %v, %v", info.Mode(), info.ModTime(), err)
	}
	if back, _ := os.ReadFile(b); !bytes.Equal(back, content) {
		t.Errorf("%d bytes came back, others than were sent", len(back))
	}
	u.run("cp", id+":sub/f", "-").says(string(content))
	u.feed("typed", "cp", "-", id+":sub/f").says("")
	u.run("cp", id+":/workspace/sub/f", "-").says("typed")
}

// Where a copy goes is as with cp and docker cp.
func TestWhereCopiesGo(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"src", "", "src/d/g src/f"},
		{"src", "old", "old/src/d/g old/src/f old/x"},
		{"src", "old/", "old/src/d/g old/src/f old/x"},
		{"src", "new", "new/d/g new/f old/x"},
		{"src/", "new", "new/d/g new/f old/x"},
		{"src/.", "", "d/g f old/x"},
		{"src/.", "old", "old/d/g old/f old/x"},
		{"src/f", "", "f old/x"},
		{"src/f", "old", "old/f old/x"},
		{"src/f", "new", "new old/x"},
		{"src/f", "old/x", "old/x"},
	} {
		u := newUser(t)
		id := u.run("create").id()
		dir := t.TempDir()
		put(t, dir, map[string]string{"src/f": "f", "src/d/g": "g", "home/old/x": "x"})
		u.run("exec", id, "mkdir old; echo x > old/x").says("")
		in := u.run("cp", filepath.Join(dir, "src")+strings.TrimPrefix(c.from, "src"), id+":"+c.to)
		all := t.TempDir()
		u.run("cp", id+":.", all).says("")
		want := c.want
		if !strings.Contains(want, "old/x") {
			want = "old/x " + want
		}
		if text := strings.Join(files(t, all), " "); !sameWords(text, want) || in.code != 0 {
			t.Errorf("cp %s SB:%s made %q, want %q; %s", c.from, c.to, text, want, in.stderr)
		}

		// The same the other way.
		u.run("exec", id, "rm -rf old new src d f")
		u.run("cp", filepath.Join(dir, "src"), id+":").says("")
		out := u.run("cp", id+":"+c.from, filepath.Join(dir, "home")+"/"+c.to)
		if text := strings.Join(files(t, filepath.Join(dir, "home")), " "); !sameWords(text, want) || out.code != 0 {
			t.Errorf("cp SB:%s %s made %q, want %q; %s", c.from, c.to, text, want, out.stderr)
		}
	}
}

func sameWords(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// With - a directory is a tar.
func TestCopyTar(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	u.run("exec", id, "mkdir d; echo a > d/f").says("")
	out := u.run("cp", id+":d", "-")
	var names []string
	for r := tar.NewReader(strings.NewReader(out.stdout)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, path.Clean(h.Name))
	}
	if !slices.Equal(names, []string{".", "f"}) {
		t.Errorf("the tar has %q", names)
	}
	u.feed(out.stdout, "cp", "-", id+":new/").says("")
	u.run("exec", id, "cat new/f").says("a\n")
	u.feed("no tar", "cp", "-", id+":d").fails(1, "archive")
}

func TestCopyRefusals(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	dir := t.TempDir()
	put(t, dir, map[string]string{"f": "", "a:b": "colon", "d/f": ""})
	f := filepath.Join(dir, "f")
	u.run("cp", "a", "b").fails(2, `neither "a" nor "b" is in a sandbox`)
	u.run("cp", id+":a", id+":b").fails(2, "are in sandboxes")
	u.run("cp", "-", "-").fails(2, "neither")
	u.run("cp", id+":none", dir).fails(1, "none is not in the sandbox")
	u.run("cp", filepath.Join(dir, "none"), id+":").fails(1, "no such file")
	u.run("cp", "sb_0123456789abcdef:f", dir).fails(1, "no sandbox sb_0123456789abcdef")
	u.run("cp", f, "sb_0123456789abcdef:f").fails(1, "no sandbox sb_0123456789abcdef")
	u.run("cp", f, id+":/etc/f").fails(1, "outside /workspace")
	u.run("cp", f, id+":f").says("")
	u.run("cp", id+":f", dir+"/none/").fails(1, "not a directory")
	u.run("cp", dir, id+":f").fails(1, "f is not a directory")
	u.run("cp", id+":", f).fails(1, "f is not a directory")
	u.run("cp", filepath.Join(dir, "a:b"), id+":").says("")
	u.run("exec", id, "cat a:b").says("colon")
}

// What leads out of the copy is left out, and that is no success.
func TestCopyHostileLink(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	dir := t.TempDir()
	u.run("exec", id, "mkdir d; echo a > d/f; ln -s /etc/passwd d/evil; ln -s f d/good").says("")
	o := u.run("cp", id+":d", filepath.Join(dir, "d"))
	if o.code != 1 || !strings.Contains(o.stderr, "mcp-sandbox: not copied: evil: it is a link that leads outside, to /etc/passwd\n") || !strings.Contains(o.stderr, "hint: --all-links") {
		t.Errorf("code %d, %q", o.code, o.stderr)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"d/f", "d/good"}) {
		t.Errorf("copied %q", got)
	}
	u.run("cp", "--all-links", id+":d", filepath.Join(dir, "e")).says("")
	if text, err := os.Readlink(filepath.Join(dir, "e/evil")); text != "/etc/passwd" {
		t.Errorf("%q, %v", text, err)
	}
}
