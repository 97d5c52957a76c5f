package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// args are a tool's arguments, as a model writes them.
type args map[string]any

// with adds arguments.
func (a args) with(more args) args {
	sum := args{}
	for _, m := range []args{a, more} {
		for k, v := range m {
			sum[k] = v
		}
	}
	return sum
}

// call runs a tool that must succeed.
func call[T any](s *server, tool string, a args) T {
	s.t.Helper()
	v, err := try[T](s, tool, a)
	if err != nil {
		s.t.Fatalf("%s %.200v: %v\n%s", tool, a, err, tail(s.Log()))
	}
	return v
}

// try runs a tool that may fail.
func try[T any](s *server, tool string, a args) (v T, err error) {
	return v, s.Call(ctx(s.t), tool, a, &v)
}

// refuse runs a tool that must fail with one of the codes.
func (s *server) refuse(tool string, a args, codes ...schemas.Code) error {
	s.t.Helper()
	err := s.Call(ctx(s.t), tool, a, nil)
	if err == nil {
		s.t.Errorf("%s %.200v: succeeded, want one of %v", tool, a, codes)
		return nil
	}
	for _, c := range codes {
		if client.Code(err) == string(c) {
			return err
		}
	}
	s.t.Errorf("%s %.200v: got code %q, want one of %v: %v", tool, a, client.Code(err), codes, err)
	return err
}

// sandbox is one sandbox of a server.
type sandbox struct {
	*server
	schemas.Sandbox
}

// create makes a sandbox, which finish destroys.
func (s *server) create(more ...args) *sandbox {
	s.t.Helper()
	a := args{}
	for _, m := range more {
		a = a.with(m)
	}
	return &sandbox{s, call[schemas.Sandbox](s, "sandbox_create", a)}
}

// list is every sandbox that is listed.
func (s *server) list() []schemas.Sandbox {
	s.t.Helper()
	return pages(s, "sandbox_list", func(p schemas.SandboxList) ([]schemas.Sandbox, string) { return p.Sandboxes, p.NextCursor })
}

// pages is a list read page by page.
func pages[P, T any](s *server, tool string, part func(P) ([]T, string)) (all []T) {
	s.t.Helper()
	for a := (args{"limit": 1000}); ; {
		some, next := part(call[P](s, tool, a))
		all = append(all, some...)
		if next == "" {
			return all
		}
		a["cursor"] = next
	}
}

// get is a sandbox as it is now.
func (s *server) get(id schemas.SandboxID) schemas.Sandbox {
	s.t.Helper()
	for _, b := range s.list() {
		if b.ID == id {
			return b
		}
	}
	s.t.Fatalf("%s is not listed", id)
	panic("not reached")
}

// empty destroys all sandboxes and snapshots.
func (s *server) empty() {
	s.t.Helper()
	for _, b := range s.list() {
		check(s.t, s.destroy(b.ID))
	}
	for _, snap := range s.snapshots() {
		check(s.t, s.deleteSnapshot(snap.ID))
	}
}

// destroy ends a sandbox and waits until it is removed, with its record last, or
// until there is no server any more that does so.
func (s *server) destroy(id schemas.SandboxID) error {
	s.t.Helper()
	if err := s.Call(ctx(s.t), "sandbox_destroy", args{"sandbox_id": id}, nil); err != nil {
		return err
	}
	eventually(s.t, settleTime, string(id)+" is removed", func() (bool, any) {
		record, err := os.ReadFile(filepath.Join(s.dir, "sandboxes", string(id)+".json"))
		return errors.Is(err, fs.ErrNotExist) || !s.Running(), []any{string(record), err, tail(s.Log())}
	})
	return nil
}

// in is the same sandbox for a subtest.
func (b *sandbox) in(t *testing.T) *sandbox { return &sandbox{b.server.in(t), b.Sandbox} }

// sh runs a shell command, whatever its exit code.
func (b *sandbox) sh(command string, more ...args) schemas.ExecResult {
	b.t.Helper()
	r, err := b.trySh(command, more...)
	if err != nil {
		b.t.Fatalf("exec %.200q: %v\n%s", command, err, tail(b.Log()))
	}
	return r
}

func (b *sandbox) trySh(command string, more ...args) (schemas.ExecResult, error) {
	return b.shContext(ctx(b.t), command, more...)
}

func (b *sandbox) shContext(c context.Context, command string, more ...args) (r schemas.ExecResult, err error) {
	a := args{"sandbox_id": b.ID, "command": command}
	for _, m := range more {
		a = a.with(m)
	}
	return r, b.Call(c, "exec", a, &r)
}

// must runs a shell command that has to succeed, and returns its output. It is
// not handed over, however busy the machine is.
func (b *sandbox) must(command string, more ...args) string {
	b.t.Helper()
	r := b.sh(command, append([]args{{"wait_seconds": callLimit.Seconds()}}, more...)...)
	if r.ExitCode != 0 {
		b.t.Fatalf("exec %.300q: exit code %d\nstdout: %.1000s\nstderr: %.1000s", command, r.ExitCode, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// alive checks that the sandbox still works, if need be in a new container, beside
// all that other tests do meanwhile.
func (b *sandbox) alive() {
	b.t.Helper()
	began := time.Now()
	if out := b.must("echo alive"); out != "alive\n" {
		b.t.Errorf("echo alive: got %q", out)
	}
	if took := time.Since(began); took > 30*time.Second {
		b.t.Errorf("echo alive: took %v", took)
	}
}

func (b *sandbox) write(path, content string) {
	b.t.Helper()
	call[schemas.FileInfo](b.server, "write_file", args{"sandbox_id": b.ID, "path": path, "content": content})
}

// read is the first page of a file.
func (b *sandbox) read(path string) schemas.FileContent {
	b.t.Helper()
	return call[schemas.FileContent](b.server, "read_file", args{"sandbox_id": b.ID, "path": path})
}

func (b *sandbox) snapshot(name string) schemas.Snapshot {
	b.t.Helper()
	return call[schemas.Snapshot](b.server, "snapshot", args{"sandbox_id": b.ID, "name": name})
}

func (b *sandbox) rollback(to schemas.SnapshotID) {
	b.t.Helper()
	r := call[schemas.Sandbox](b.server, "rollback", args{"sandbox_id": b.ID, "snapshot_id": to})
	if r.ID != b.ID {
		b.t.Errorf("rollback: the sandbox is %s, was %s", r.ID, b.ID)
	}
}

// fork makes one sandbox of a snapshot.
func (s *server) fork(from schemas.SnapshotID, more ...args) *sandbox {
	s.t.Helper()
	a := args{"snapshot_id": from, "count": 1}
	for _, m := range more {
		a = a.with(m)
	}
	r := call[schemas.ForkResult](s, "fork", a)
	if len(r.Sandboxes) != 1 {
		s.t.Fatalf("fork: got %+v", r)
	}
	return &sandbox{s, r.Sandboxes[0]}
}

// files lists all pages of a directory.
func (b *sandbox) files(path string, more ...args) (all []schemas.FileInfo) {
	b.t.Helper()
	a := args{"sandbox_id": b.ID, "path": path}
	for _, m := range more {
		a = a.with(m)
	}
	for {
		page := call[schemas.FileList](b.server, "list_files", a)
		all = append(all, page.Entries...)
		if page.NextCursor == "" {
			return all
		}
		a = a.with(args{"cursor": page.NextCursor})
	}
}
