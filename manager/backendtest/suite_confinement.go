package backendtest

import (
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// confinementChecks: a write that would land outside the workspace is refused.
var confinementChecks = []check{
	{"writes do not leave through a symlink", func(e *env) {
		b := e.box()
		e.sh(b, "ln -s /tmp out; ln -s out again; ln -s /tmp/f file; ln -s ../tmp rel; mkdir in; ln -s in inside")
		for _, path := range []string{"/workspace/out/f", "/workspace/again/f", "/workspace/rel/f"} {
			_, err := b.Write(e.ctx, path, manager.WriteOptions{MaxBytes: 9}, strings.NewReader("x"))
			e.wantKind("write "+path, err, manager.KindInvalid)
			_, err = b.Mkdir(e.ctx, path, nil)
			e.wantKind("mkdir "+path, err, manager.KindInvalid)
			e.wantKind("delete "+path, b.Delete(e.ctx, path, true), manager.KindInvalid, manager.KindNotFound)
		}
		if got := e.sh(b, "ls /tmp"); got != "" {
			e.Errorf("outside there is %q", got)
		}
		e.write(b, "/workspace/inside/f", "x")
		if got := e.sh(b, "cat in/f"); got != "x" {
			e.Errorf("through a link inside: %q", got)
		}
	}},
	{"moves do not leave through a symlink", func(e *env) {
		b := e.box()
		e.sh(b, "ln -s /tmp out; echo x > f; echo y > /tmp/g")
		_, err := b.Move(e.ctx, "/workspace/f", "/workspace/out/f")
		e.wantKind("out", err, manager.KindInvalid)
		_, err = b.Move(e.ctx, "/workspace/out/g", "/workspace/g")
		e.wantKind("in", err, manager.KindInvalid)
		if got := e.sh(b, "cat f /tmp/g"); got != "x\ny\n" {
			e.Errorf("got %q", got)
		}
	}},
	{"writes outside the workspace are refused", func(e *env) {
		b := e.box()
		_, err := b.Write(e.ctx, "/tmp/f", manager.WriteOptions{MaxBytes: 9}, strings.NewReader("x"))
		e.wantKind("write", err, manager.KindInvalid)
		_, err = b.Mkdir(e.ctx, "/tmp/d", nil)
		e.wantKind("mkdir", err, manager.KindInvalid)
		e.wantKind("delete", b.Delete(e.ctx, "/etc/passwd", false), manager.KindInvalid)
		_, err = b.Unpack(e.ctx, manager.UnpackOptions{Path: "/tmp", MaxBytes: 1 << 20, MaxFiles: 10}, strings.NewReader(string(emptyTar())))
		e.wantKind("unpack", err, manager.KindInvalid)
	}},
	{"root file system is read-only when asked for", func(e *env) {
		if out := e.must(e.box(), e.script("echo x > /etc/x")); out.Code == 0 {
			e.Error("/etc could be written")
		}
	}},
}
