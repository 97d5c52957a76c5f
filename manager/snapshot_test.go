package manager_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestSnapshotSaysWhatItIs(t *testing.T) {
	s := start(t)
	b := s.create(schemas.CreateSandboxRequest{Env: map[string]string{"SECRET": "hunter2"}})
	s.mustSh(b.ID, "echo x > f; mkdir d")
	got, err := s.Snapshot(t.Context(), owner, b.ID, schemas.SnapshotRequest{Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.tarFile(got.ID))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if got.SandboxID != b.ID || got.Name != "first" || got.Image != b.Image || got.Files != 2 || got.ParentID != nil ||
		got.SizeBytes < 1024 || got.StoredBytes != int64(len(data)) || got.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("got %+v", got)
	}
	if again, err := s.GetSnapshot(t.Context(), owner, got.ID); err != nil || again != got {
		t.Errorf("GetSnapshot: %+v, %v", again, err)
	}
	wantPrivate(t, s.snapDir())
}

// wantPrivate: snapshots and the environments in their records are nobody else's.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "*"): 0o600} {
		names, _ := filepath.Glob(path)
		if len(names) == 0 {
			t.Errorf("nothing at %s", path)
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
			}
		}
	}
}

// G20: parallel snapshots do not get into each other's way, and of one sandbox
// only one at a time is taken.
func TestG20ParallelSnapshots(t *testing.T) {
	s := start(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	want := map[schemas.SnapshotID]string{}
	for i := range 4 {
		b := s.create()
		s.mustSh(b.ID, fmt.Sprintf("echo %d > f", i))
		for range 4 {
			wg.Go(func() {
				snap, err := s.Snapshot(t.Context(), owner, b.ID, schemas.SnapshotRequest{})
				if err != nil {
					wantKind(t, err, manager.KindConflict)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				want[snap.ID] = fmt.Sprintln(i)
			})
		}
	}
	wg.Wait()
	if n := len(s.snapshots()); n != len(want) || n < 4 {
		t.Errorf("%d are listed, %d were taken", n, len(want))
	}
	for id, content := range want {
		if got := s.mustSh(s.mustFork(id).ID, "cat f"); got != content {
			t.Errorf("%s holds %q, want %q", id, got, content)
		}
		if n := len(s.snapFiles()); n != 2*len(want) {
			t.Errorf("files are %q", s.snapFiles())
		}
	}
}

func TestSnapshotKeepsOutSnapshotAndRollback(t *testing.T) {
	s := start(t)
	b := s.create()
	first := s.snap(b.ID)
	hold := make(chan struct{})
	s.fake.Inject(backendtest.OpPack, backendtest.Fault{Times: 1, Hold: hold})
	done := make(chan error, 1)
	go func() {
		_, err := s.Snapshot(t.Context(), owner, b.ID, schemas.SnapshotRequest{})
		done <- err
	}()
	eventually(t, "pack", func() bool { return s.fake.Calls(backendtest.OpPack) == 2 })
	_, err := s.Snapshot(t.Context(), owner, b.ID, schemas.SnapshotRequest{})
	if e := wantKind(t, err, manager.KindConflict); !e.Retryable {
		t.Errorf("got %+v", e)
	}
	_, err = s.rollback(b.ID, first.ID)
	wantKind(t, err, manager.KindConflict)
	s.mustSh(b.ID, "true") // others go on
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// G9, G20, L7: a snapshot that fails at any point leaves nothing, is not listed,
// and is no harm to what follows.
func TestG9FailedSnapshotLeavesNothing(t *testing.T) {
	boom := &manager.Error{Kind: manager.KindBackend, Message: "boom"}
	lost := &manager.Error{Kind: manager.KindLost, Message: "lost"}
	inject := func(f backendtest.Fault) func(*server) {
		return func(s *server) { s.fake.Inject(backendtest.OpPack, f) }
	}
	for name, c := range map[string]struct {
		fault func(*server)
		kind  manager.Kind
	}{
		"pack":                  {inject(backendtest.Fault{Before: boom}), manager.KindBackend},
		"pack, at its end":      {inject(backendtest.Fault{After: boom}), manager.KindBackend},
		"pack, twice lost":      {inject(backendtest.Fault{After: lost}), manager.KindBackend},
		"too large":             {func(s *server) { s.mustSh(s.only(), "head -c 9000000 /dev/zero > big") }, manager.KindTooLarge},
		"L7 disk full at once":  {func(s *server) { s.FullDisk(0) }, manager.KindNoSpace},
		"L7 disk full later":    {func(s *server) { s.FullDisk(100_000) }, manager.KindNoSpace},
		"record":                {func(s *server) { s.FailSnapshotRecords(errors.New("boom"), false) }, manager.KindInternal},
		"record's last sync":    {func(s *server) { s.FailSnapshotRecords(errors.New("boom"), true) }, manager.KindInternal},
		"name of the directory": {func(s *server) { os.RemoveAll(s.snapDir()) }, manager.KindNoSpace},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			b := s.create()
			if err := s.put(b.ID, "noise", noise(500_000)); err != nil {
				t.Fatal(err)
			}
			c.fault(s)
			_, err := s.Snapshot(t.Context(), owner, b.ID, schemas.SnapshotRequest{})
			wantFailure(t, err, c.kind)
			os.MkdirAll(s.snapDir(), 0o700)
			if got := s.snapFiles(); len(got)+len(s.snapshots()) > 0 {
				t.Errorf("left are %q, listed %q", got, s.snapshots())
			}
			s.fake.Heal(backendtest.OpPack)
			s.FullDisk(1 << 40)
			s.FailSnapshotRecords(nil, false)
			s.mustSh(b.ID, "rm -f big")
			s.snap(b.ID)
		})
	}
}

// wantFailure is wantKind for errors that may be untyped.
func wantFailure(t *testing.T, err error, kind manager.Kind) {
	t.Helper()
	if err == nil || manager.KindOf(err) != kind {
		t.Fatalf("error is %v; want %s", err, kind.Code())
	}
}

func (s *server) only() schemas.SandboxID {
	s.t.Helper()
	l, err := s.List(s.t.Context(), owner, schemas.Page{})
	if err != nil || len(l.Sandboxes) != 1 {
		s.t.Fatalf("List: %+v, %v", l, err)
	}
	return l.Sandboxes[0].ID
}

func TestSnapshotIsTakenAgainWhenTheGuestIsLost(t *testing.T) {
	s := start(t)
	b := s.create()
	s.mustSh(b.ID, "echo x > f")
	s.fake.Inject(backendtest.OpPack, backendtest.Fault{Times: 1, After: &manager.Error{Kind: manager.KindLost}})
	if got := s.mustSh(s.mustFork(s.snap(b.ID).ID).ID, "cat f"); got != "x\n" {
		t.Errorf("got %q", got)
	}
	if n := len(s.snapFiles()); n != 2 {
		t.Errorf("files are %q", s.snapFiles())
	}
}

// G16: a guest that lies about how much there is cannot fill the disk, nor make
// the server say impossible things.
func TestG16HostileGuest(t *testing.T) {
	type pack = func(context.Context, manager.PackOptions, io.Writer) (manager.ArchiveStats, error)
	for name, p := range map[string]pack{
		"endless": func(_ context.Context, _ manager.PackOptions, w io.Writer) (manager.ArchiveStats, error) {
			chunk := []byte(noise(1 << 16))
			for {
				if _, err := w.Write(chunk); err != nil {
					return manager.ArchiveStats{}, &manager.Error{Kind: manager.KindLost, Cause: err}
				}
			}
		},
		"deaf to errors": func(_ context.Context, _ manager.PackOptions, w io.Writer) (manager.ArchiveStats, error) {
			for range 200 {
				w.Write([]byte(noise(1 << 16)))
			}
			return manager.ArchiveStats{Bytes: 1}, nil
		},
		"negative size": func(context.Context, manager.PackOptions, io.Writer) (manager.ArchiveStats, error) {
			return manager.ArchiveStats{Bytes: -1}, nil
		},
		"huge size": func(context.Context, manager.PackOptions, io.Writer) (manager.ArchiveStats, error) {
			return manager.ArchiveStats{Bytes: 1 << 60}, nil
		},
		"huge count": func(context.Context, manager.PackOptions, io.Writer) (manager.ArchiveStats, error) {
			return manager.ArchiveStats{Files: 1 << 60}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var seen manager.PackOptions
			s := startHostile(t, func(ctx context.Context, o manager.PackOptions, w io.Writer) (manager.ArchiveStats, error) {
				seen = o
				return p(ctx, o, w)
			})
			_, err := s.Snapshot(t.Context(), owner, s.create().ID, schemas.SnapshotRequest{})
			if e := wantKind(t, err, manager.KindTooLarge); !strings.Contains(e.Message, "8388608") {
				t.Errorf("message is %q", e.Message)
			}
			if len(s.snapFiles()) > 0 {
				t.Errorf("left are %q", s.snapFiles())
			}
			if !seen.Pause || !seen.Zstd || seen.MaxBytes != s.cfg.MaxSnapshotBytes || seen.Path != "/workspace" {
				t.Errorf("asked for %+v", seen)
			}
		})
	}
}

func TestSnapshotWithoutPause(t *testing.T) {
	paused := true
	s := startHostile(t, func(_ context.Context, o manager.PackOptions, _ io.Writer) (manager.ArchiveStats, error) {
		paused = o.Pause
		return manager.ArchiveStats{}, nil
	})
	_, err := s.Snapshot(t.Context(), owner, s.create().ID, schemas.SnapshotRequest{Pause: ptr(false)})
	if err != nil || paused {
		t.Errorf("paused: %t, %v", paused, err)
	}
}

// The caller goes away, or the sandbox does, while the snapshot is taken.
func TestSnapshotInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		interrupt func(s *server, id schemas.SandboxID, cancel func())
		check     func(t *testing.T, err error)
	}{
		"caller leaves": {
			func(_ *server, _ schemas.SandboxID, cancel func()) { cancel() },
			func(t *testing.T, err error) {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			},
		},
		"destroyed": {
			func(s *server, id schemas.SandboxID, _ func()) { s.Destroy(s.t.Context(), owner, id) },
			func(t *testing.T, err error) {
				if e := wantKind(t, err, manager.KindGone); e.Reason != manager.ReasonDestroyed {
					t.Errorf("got %+v", e)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			b := s.create()
			s.fake.Inject(backendtest.OpPack, backendtest.Fault{Hold: make(chan struct{})})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := s.Snapshot(ctx, owner, b.ID, schemas.SnapshotRequest{})
				done <- err
			}()
			eventually(t, "pack", func() bool { return s.fake.Calls(backendtest.OpPack) == 1 })
			c.interrupt(s, b.ID, cancel)
			c.check(t, <-done)
			if len(s.snapFiles())+len(s.snapshots()) > 0 {
				t.Errorf("left are %q", s.snapFiles())
			}
		})
	}
}

func TestSnapshotRefuses(t *testing.T) {
	s := start(t)
	b := s.create()
	_, err := s.Snapshot(t.Context(), owner, b.ID, schemas.SnapshotRequest{Name: "a\nb"})
	wantInvalid(t, err, "name")
	s.fake.RemoveVolume(containerOf(b.ID))
	_, err = s.Snapshot(t.Context(), owner, b.ID, schemas.SnapshotRequest{})
	wantKind(t, err, manager.KindConflict)
	if len(s.snapFiles()) > 0 {
		t.Errorf("left are %q", s.snapFiles())
	}
}
