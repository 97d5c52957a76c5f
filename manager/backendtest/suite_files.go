package backendtest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing/iotest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// oddNames are names that a careless program trips over.
var oddNames = []string{
	"a b", " lead", "trail ", "-rf", "*", "new\nline", "tab\t", "quote'\"", "back\\slash", "$(id)", "`id`", ";x",
	"..config", "...", "a..b", ".hidden", ".wh.x", "\xff\xfe", "\u00e9", "\U0001F600", strings.Repeat("n", 255),
}

var fileChecks = []check{
	{"write then read", func(e *env) {
		b := e.box()
		info, err := b.Write(e.ctx, "/workspace/new/deep/f", manager.WriteOptions{MaxBytes: 100}, strings.NewReader("a\x00\xff"))
		if err != nil || info.Path != "/workspace/new/deep/f" || info.Name != "f" || info.Size != 3 || info.Mode != 0o644 || info.Type != schemas.TypeFile {
			e.Errorf("write: %+v, %v", info, err)
		}
		if got := e.read(b, "/workspace/new/deep/f"); got != "a\x00\xff" {
			e.Errorf("got %q", got)
		}
		if got := e.sh(b, "cat new/deep/f; echo more >> new/deep/f; rm -r new"); got != "a\x00\xff" {
			e.Errorf("a command sees %q", got)
		}
	}},
	{"read a range", func(e *env) {
		b := e.box()
		e.write(b, "/workspace/f", "0123456789")
		for _, c := range []struct {
			offset, length int64
			want           string
		}{{0, -1, "0123456789"}, {3, 2, "34"}, {8, 100, "89"}, {10, -1, ""}, {99, 5, ""}, {0, 0, ""}} {
			info, content, err := b.Read(e.ctx, "/workspace/f", c.offset, c.length)
			if err != nil {
				e.Fatalf("read: %v", err)
			}
			data, err := io.ReadAll(content)
			content.Close()
			if string(data) != c.want || err != nil || info.Size != 10 {
				e.Errorf("%+v: got %q, %v, size %d", c, data, err, info.Size)
			}
		}
	}},
	{"a reader may be closed early", func(e *env) {
		b := e.box()
		e.sh(b, "head -c 20000000 /dev/zero > big")
		for range 3 {
			_, content, err := b.Read(e.ctx, "/workspace/big", 0, -1)
			if err != nil {
				e.Fatalf("read: %v", err)
			}
			if _, err := io.ReadFull(content, make([]byte, 10)); err != nil {
				e.Errorf("read: %v", err)
			}
			content.Close()
		}
		e.sh(b, "true")
	}},
	{"modes", func(e *env) {
		b := e.box()
		mode := func(m uint32) *uint32 { return &m }
		for _, c := range []struct{ give, want *uint32 }{{mode(0o755), mode(0o755)}, {nil, mode(0o755)}, {mode(0o600), mode(0o600)}} {
			info, err := b.Write(e.ctx, "/workspace/f", manager.WriteOptions{Mode: c.give, MaxBytes: 9}, strings.NewReader("x"))
			if err != nil || info.Mode != *c.want {
				e.Errorf("got %o, %v; want %o", info.Mode, err, *c.want)
			}
		}
	}},
	{"content over the limit is KindTooLarge and the old stays", func(e *env) {
		b := e.box()
		e.write(b, "/workspace/f", "old")
		_, err := b.Write(e.ctx, "/workspace/f", manager.WriteOptions{MaxBytes: 4}, strings.NewReader("12345"))
		e.wantKind("write", err, manager.KindTooLarge)
		_, err = b.Write(e.ctx, "/workspace/g", manager.WriteOptions{MaxBytes: 4}, strings.NewReader("1234"))
		if err != nil {
			e.Errorf("just the limit: %v", err)
		}
		if got := e.sh(b, "cat f; ls"); got != "oldf\ng\n" {
			e.Errorf("got %q", got)
		}
	}},
	{"a source that fails leaves the old content and nothing else", func(e *env) {
		b := e.box()
		e.write(b, "/workspace/f", "old")
		mine := errors.New("mine")
		in := io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(mine))
		if _, err := b.Write(e.ctx, "/workspace/f", manager.WriteOptions{MaxBytes: 1 << 20}, in); !errors.Is(err, mine) {
			e.Errorf("got %v, want the source's error", err)
		}
		if got := e.sh(b, "cat f; ls"); got != "oldf\n" {
			e.Errorf("got %q", got)
		}
	}},
	{"write onto a directory, or below a file, is refused", func(e *env) {
		b := e.box()
		e.sh(b, "mkdir d; echo x > f")
		for _, path := range []string{"/workspace/d", "/workspace/f/x", "/workspace"} {
			_, err := b.Write(e.ctx, path, manager.WriteOptions{MaxBytes: 9}, strings.NewReader("x"))
			e.wantKind(path, err, manager.KindInvalid, manager.KindConflict)
		}
	}},
	{"a FIFO is refused at once", func(e *env) {
		b := e.box()
		e.sh(b, "mkfifo p")
		e.promptly("read and write", func() {
			_, _, err := b.Read(e.ctx, "/workspace/p", 0, -1)
			e.wantKind("read", err, manager.KindInvalid)
			_, err = b.Write(e.ctx, "/workspace/p", manager.WriteOptions{MaxBytes: 9}, strings.NewReader("x"))
			e.wantKind("write", err, manager.KindInvalid, manager.KindConflict)
		})
	}},
	{"what is not there is KindNotFound", func(e *env) {
		b := e.box()
		_, _, err := b.Read(e.ctx, "/workspace/none", 0, -1)
		e.wantKind("read", err, manager.KindNotFound)
		_, err = b.Stat(e.ctx, "/workspace/none")
		e.wantKind("stat", err, manager.KindNotFound)
		_, _, err = b.List(e.ctx, "/workspace/none", 10, "")
		e.wantKind("list", err, manager.KindNotFound)
		_, err = b.Move(e.ctx, "/workspace/none", "/workspace/x")
		e.wantKind("move", err, manager.KindNotFound)
		e.wantKind("delete", b.Delete(e.ctx, "/workspace/none", true), manager.KindNotFound)
	}},
	{"stat tells the type and does not follow a link", func(e *env) {
		b := e.box()
		e.sh(b, "mkdir d; echo x > f; ln -s f l; mkfifo p; ln -s none dangling")
		for name, want := range map[string]schemas.FileType{"d": schemas.TypeDirectory, "f": schemas.TypeFile, "l": schemas.TypeSymlink, "p": schemas.TypeOther, "dangling": schemas.TypeSymlink} {
			info, err := b.Stat(e.ctx, "/workspace/"+name)
			if err != nil || info.Type != want || info.Name != name || time.Since(info.ModTime).Abs() > time.Hour {
				e.Errorf("%s: %+v, %v", name, info, err)
			}
		}
		if info, _ := b.Stat(e.ctx, "/workspace/l"); info.LinkTarget != "f" {
			e.Errorf("link target %q", info.LinkTarget)
		}
	}},
	{"reads may name any path", func(e *env) {
		b := e.box()
		if got := e.read(b, "/bin/sh"); got == "" {
			e.Error("/bin/sh is empty")
		}
		if _, _, err := b.List(e.ctx, "/", 1000, ""); err != nil {
			e.Errorf("list /: %v", err)
		}
	}},
	{"odd names round-trip", func(e *env) {
		b := e.box()
		want := slices.Sorted(slices.Values(oddNames))
		for _, name := range want {
			e.write(b, "/workspace/"+name, name)
		}
		entries, more, err := b.List(e.ctx, "/workspace", 1000, "")
		if err != nil || more || !slices.Equal(names(entries), want) {
			e.Errorf("list: %q, more %t, %v; want %q", names(entries), more, err, want)
		}
		for _, f := range entries {
			if got := e.read(b, f.Path); got != f.Name {
				e.Errorf("%q holds %q", f.Path, got)
			}
		}
	}},
	{"list is sorted and paged", func(e *env) {
		b := e.box()
		var want []string
		for i := range 25 {
			want = append(want, fmt.Sprintf("f%02d", i))
			e.write(b, "/workspace/"+want[i], "x")
		}
		var got []string
		after, more := "", true
		for more {
			var page []manager.File
			var err error
			if page, more, err = b.List(e.ctx, "/workspace", 10, after); err != nil || len(page) == 0 || len(page) > 10 {
				e.Fatalf("page of %d, %v", len(page), err)
			}
			got = append(got, names(page)...)
			after = page[len(page)-1].Name
		}
		if !slices.Equal(got, want) {
			e.Errorf("got %q", got)
		}
	}},
	{"list of a file is refused", func(e *env) {
		b := e.box()
		e.write(b, "/workspace/f", "x")
		_, _, err := b.List(e.ctx, "/workspace/f", 10, "")
		e.wantKind("list", err, manager.KindInvalid)
	}},
	{"refusals say what could not be done, and why", func(e *env) {
		b := e.box()
		e.sh(b, "mkdir -p d/e; echo x > f; echo x > closed; chmod 0 closed")
		read := func(path string) error { _, _, err := b.Read(e.ctx, path, 0, -1); return err }
		list := func(path string) error { _, _, err := b.List(e.ctx, path, 10, ""); return err }
		in := func(dir string) error {
			c := e.command("true")
			c.Dir = dir
			_, err := e.run(b, c)
			return err
		}
		for want, err := range map[string]error{
			"read /workspace/none/f: no such file or directory":                                                                                  read("/workspace/none/f"),
			"read /workspace/d: it is a directory; list it, or name a file in it":                                                                read("/workspace/d"),
			"read /workspace/f/g: a part of the path is not a directory":                                                                         read("/workspace/f/g"),
			"read /workspace/closed: the sandbox user may not do this; check the mode of the file and its directories, and change it with chmod": read("/workspace/closed"),
			"list /workspace/none: no such file or directory":                                                                                    list("/workspace/none"),
			"list /workspace/f: not a directory; read it, or list the directory it is in":                                                        list("/workspace/f"),
			"delete /workspace/none: no such file or directory":                                                                                  b.Delete(e.ctx, "/workspace/none", false),
			"delete /workspace/d: the directory is not empty; delete it with recursive set":                                                      b.Delete(e.ctx, "/workspace/d", false),
			"delete /workspace: the workspace itself cannot be deleted; delete what is in it":                                                    b.Delete(e.ctx, "/workspace", true),
			"workdir /workspace/none: no such file or directory":                                                                                 in("/workspace/none"),
			"workdir /workspace/f: not a directory":                                                                                              in("/workspace/f"),
		} {
			var typed *manager.Error
			if !errors.As(err, &typed) || typed.Message != want {
				e.Errorf("got %v, want it to say %q", err, want)
			}
		}
	}},
	{"mkdir makes parents and leaves what is there", func(e *env) {
		b := e.box()
		for range 2 {
			info, err := b.Mkdir(e.ctx, "/workspace/a/b/c", nil)
			if err != nil || info.Type != schemas.TypeDirectory || info.Path != "/workspace/a/b/c" {
				e.Errorf("mkdir: %+v, %v", info, err)
			}
		}
		e.sh(b, "touch a/b/c/f")
		e.write(b, "/workspace/f", "x")
		_, err := b.Mkdir(e.ctx, "/workspace/f", nil)
		e.wantKind("mkdir over a file", err, manager.KindConflict, manager.KindInvalid)
	}},
	{"move renames, makes parents, replaces a file, not a directory", func(e *env) {
		b := e.box()
		e.sh(b, "echo a > a; echo b > b; mkdir d; touch d/x")
		if info, err := b.Move(e.ctx, "/workspace/a", "/workspace/new/b"); err != nil || info.Path != "/workspace/new/b" {
			e.Errorf("move: %+v, %v", info, err)
		}
		if _, err := b.Move(e.ctx, "/workspace/b", "/workspace/new/b"); err != nil {
			e.Errorf("move onto a file: %v", err)
		}
		_, err := b.Move(e.ctx, "/workspace/new/b", "/workspace/d")
		e.wantKind("move onto a directory", err, manager.KindConflict, manager.KindInvalid)
		_, err = b.Move(e.ctx, "/workspace/d", "/workspace/d/x/y")
		e.wantKind("move into itself", err, manager.KindInvalid, manager.KindConflict)
		if got := e.sh(b, "cat new/b; ls; ls d"); got != "b\nd\nnew\nx\n" {
			e.Errorf("got %q", got)
		}
	}},
	{"delete", func(e *env) {
		b := e.box()
		e.sh(b, "mkdir -p d/e; touch d/e/f; mkdir empty; ln -s d l; touch f")
		e.wantKind("directory with content", b.Delete(e.ctx, "/workspace/d", false), manager.KindInvalid)
		e.wantKind("the workspace", b.Delete(e.ctx, "/workspace", true), manager.KindInvalid)
		for _, path := range []string{"/workspace/empty", "/workspace/f", "/workspace/l"} {
			if err := b.Delete(e.ctx, path, false); err != nil {
				e.Errorf("delete %s: %v", path, err)
			}
		}
		if got := e.sh(b, "ls d; ls"); got != "e\nd\n" {
			e.Errorf("got %q", got)
		}
		if err := b.Delete(e.ctx, "/workspace/d", true); err != nil {
			e.Errorf("delete recursively: %v", err)
		}
		if got := e.sh(b, "ls"); got != "" {
			e.Errorf("got %q", got)
		}
	}},
}

func names(files []manager.File) (all []string) {
	for _, f := range files {
		all = append(all, f.Name)
	}
	return all
}
