package manager_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (s *server) snap(id schemas.SandboxID) schemas.Snapshot {
	s.t.Helper()
	snap, err := s.Snapshot(s.t.Context(), owner, id, schemas.SnapshotRequest{})
	if err != nil {
		s.t.Fatalf("Snapshot: %v", err)
	}
	return snap
}

func (s *server) rollback(id schemas.SandboxID, snap schemas.SnapshotID) (schemas.Sandbox, error) {
	return s.Rollback(s.t.Context(), owner, id, schemas.RollbackRequest{SnapshotID: snap})
}

func (s *server) mustRollback(id schemas.SandboxID, snap schemas.SnapshotID) schemas.Sandbox {
	s.t.Helper()
	b, err := s.rollback(id, snap)
	if err != nil {
		s.t.Fatalf("Rollback: %v", err)
	}
	return b
}

func (s *server) fork(id schemas.SnapshotID, req schemas.ForkRequest) (schemas.ForkResult, error) {
	return s.Fork(s.t.Context(), owner, id, req)
}

func (s *server) mustFork(id schemas.SnapshotID) schemas.Sandbox {
	s.t.Helper()
	r, err := s.fork(id, schemas.ForkRequest{})
	if err != nil || len(r.Sandboxes) != 1 {
		s.t.Fatalf("Fork: %+v, %v", r, err)
	}
	return r.Sandboxes[0]
}

func (s *server) snapshots() (ids []schemas.SnapshotID) {
	s.t.Helper()
	l, err := s.ListSnapshots(s.t.Context(), owner, "", schemas.Page{})
	if err != nil {
		s.t.Fatalf("ListSnapshots: %v", err)
	}
	for _, snap := range l.Snapshots {
		ids = append(ids, snap.ID)
	}
	return ids
}

func (s *server) snapDir() string { return filepath.Join(s.cfg.DataDir, "snapshots") }

func (s *server) tarFile(id schemas.SnapshotID) string {
	return filepath.Join(s.snapDir(), string(id)+".tar.zst")
}

// snapFiles names all that is in the snapshots directory.
func (s *server) snapFiles() (names []string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.snapDir())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// wantOne wants n containers and volumes to be all there is, soon.
func (s *server) wantSandboxes(n int) {
	s.t.Helper()
	eventually(s.t, "old incarnations go", func() bool {
		return len(s.fake.Containers()) == n && len(s.fake.Volumes()) == n
	})
}

// background runs a command beside the test; the function it returns waits for
// its end.
func (s *server) background(id schemas.SandboxID, line string) (wait func() (schemas.ExecResult, error)) {
	s.t.Helper()
	var r schemas.ExecResult
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = s.sh(id, "echo begun > .begun; "+line)
	}()
	eventually(s.t, "command begins", func() bool {
		_, err := s.get(id, ".begun")
		return err == nil
	})
	return func() (schemas.ExecResult, error) { <-done; return r, err }
}

// afterCrash is the next server after this one was killed at this moment: it
// finds the disk as it is now. This one may go on, but not with the disk.
func (s *server) afterCrash() *server {
	s.t.Helper()
	next := *s
	next.cfg.DataDir = filepath.Join(s.t.TempDir(), "copy")
	if err := os.CopyFS(next.cfg.DataDir, os.DirFS(s.cfg.DataDir)); err != nil {
		s.t.Fatal(err)
	}
	return restart(s.t, &next)
}

func noise(n int) string {
	var b strings.Builder
	x := uint32(1)
	for b.Len() < n {
		x = x*1664525 + 1013904223
		b.WriteByte(byte(x >> 24))
	}
	return b.String()
}

// hostile is a backend whose guests do as pack says instead of packing.
type hostile struct {
	manager.Backend
	pack func(ctx context.Context, o manager.PackOptions, w io.Writer) (manager.ArchiveStats, error)
}

type hostileGuest struct {
	manager.Guest
	of *hostile
}

func (h *hostile) Create(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (manager.Guest, error) {
	g, err := h.Backend.Create(ctx, ref, spec, image)
	return hostileGuest{g, h}, err
}

func (g hostileGuest) Pack(ctx context.Context, o manager.PackOptions, w io.Writer) (manager.ArchiveStats, error) {
	return g.of.pack(ctx, o, w)
}

// startHostile is start with guests that pack like that.
func startHostile(t testing.TB, pack func(context.Context, manager.PackOptions, io.Writer) (manager.ArchiveStats, error)) *server {
	t.Helper()
	s := start(t)
	s.Close()
	m, err := manager.New(s.cfg, &hostile{s.fake, pack})
	if err != nil {
		t.Fatal(err)
	}
	m.Start()
	t.Cleanup(func() { m.Close() })
	return &server{Manager: m, t: t, fake: s.fake, cfg: s.cfg}
}
