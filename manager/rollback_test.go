package manager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestRollback(t *testing.T) {
	s := start(t)
	b := s.create(schemas.CreateSandboxRequest{Name: "n", Env: map[string]string{"A": "1"}, CPUs: ptr(0.5)})
	s.mustSh(b.ID, "echo old > f; mkdir d")
	snap := s.snap(b.ID)
	s.mustSh(b.ID, "echo new > f; rm -r d; echo x > added; echo x > /tmp/f")
	got := s.mustRollback(b.ID, snap.ID)
	want := b
	want.SourceSnapshotID = &snap.ID
	if got.SourceSnapshotID == nil || *got.SourceSnapshotID != snap.ID {
		t.Errorf("source is %v", got.SourceSnapshotID)
	}
	got.SourceSnapshotID, want.SourceSnapshotID = nil, nil
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if out := s.mustSh(b.ID, "cat f; ls; ls /tmp; echo $A"); out != "old\nd\nf\n1\n" {
		t.Errorf("workspace is %q", out)
	}
	s.wantSandboxes(1)
	if again := s.snap(b.ID); again.ParentID == nil || *again.ParentID != snap.ID {
		t.Errorf("parent of a later snapshot is %v", again.ParentID)
	}
}

// G13: cycles of work, snapshot and rollback each show just what was saved.
func TestG13CyclesKeepEverything(t *testing.T) {
	s := start(t)
	b := s.create()
	var snaps []schemas.SnapshotID
	want := func(n int) (list string) {
		for i := range n {
			list += fmt.Sprintf("f%d\n", i)
		}
		return list
	}
	for i := range 6 {
		s.mustSh(b.ID, fmt.Sprintf("echo %d > f%d", i, i))
		snaps = append(snaps, s.snap(b.ID).ID)
		s.mustRollback(b.ID, snaps[i])
		if got := s.mustSh(b.ID, "ls"); got != want(i+1) {
			t.Errorf("cycle %d: %q", i, got)
		}
	}
	for _, i := range []int{0, 3, 5} {
		s.mustRollback(b.ID, snaps[i])
		if got := s.mustSh(b.ID, "ls"); got != want(i+1) {
			t.Errorf("back to %d: %q", i, got)
		}
	}
	s.wantSandboxes(1)
}

// A fork may go back to the snapshot it came from, which is of another sandbox.
func TestRollbackToSnapshotOfAnotherSandbox(t *testing.T) {
	s := start(t)
	b := s.create()
	s.mustSh(b.ID, "echo x > f")
	snap := s.snap(b.ID)
	f := s.mustFork(snap.ID)
	s.mustSh(f.ID, "rm f")
	s.mustRollback(f.ID, snap.ID)
	if got := s.mustSh(f.ID, "cat f"); got != "x\n" {
		t.Errorf("got %q", got)
	}
}

// G21, H12: whatever has become of the old incarnation, rollback brings the
// sandbox back.
func TestG21RollbackOfADeadSandbox(t *testing.T) {
	for name, kill := range map[string]func(*backendtest.Fake, string){
		"G21 stopped":       (*backendtest.Fake).StopContainer,
		"paused":            (*backendtest.Fake).PauseContainer,
		"H12 no container":  (*backendtest.Fake).RemoveContainer,
		"H12 volume gone":   (*backendtest.Fake).RemoveVolume,
		"H12 nothing there": func(f *backendtest.Fake, n string) { f.RemoveContainer(n); f.RemoveVolume(n) },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			b := s.create()
			s.mustSh(b.ID, "echo old > f")
			snap := s.snap(b.ID)
			s.mustSh(b.ID, "echo new > f")
			kill(s.fake, containerOf(b.ID))
			if got := s.mustRollback(b.ID, snap.ID); got.Status != schemas.StatusRunning {
				t.Errorf("status is %s", got.Status)
			}
			if got := s.mustSh(b.ID, "cat f"); got != "old\n" {
				t.Errorf("got %q", got)
			}
			s.wantSandboxes(1)
		})
	}
}

// H10: calls inside end at once with a typed error that says why, and the old
// processes are gone; new calls find the new incarnation.
func TestH10RollbackEndsCallsInFlight(t *testing.T) {
	s := start(t)
	b := s.create()
	snap := s.snap(b.ID)
	var waits []func() (schemas.ExecResult, error)
	for range 3 {
		waits = append(waits, s.background(b.ID, "(while :; do sleep 1; done) & sleep 300"))
	}
	began := time.Now()
	s.mustRollback(b.ID, snap.ID)
	for _, wait := range waits {
		_, err := wait()
		if e := wantKind(t, err, manager.KindGone); e.Reason != manager.ReasonRolledBack || e.Hint == "" {
			t.Errorf("got %+v", e)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if got := s.mustSh(b.ID, "ls"); got != "" {
		t.Errorf("workspace is %q", got)
	}
	s.wantSandboxes(1)
}

// Until the switch a rollback changes nothing: whatever fails, the sandbox, what
// runs in it and its snapshots are as they were, and nothing else is left.
func TestFailedRollbackChangesNothing(t *testing.T) {
	boom := &manager.Error{Kind: manager.KindBackend, Message: "boom"}
	lost := &manager.Error{Kind: manager.KindLost, Message: "lost"}
	down := &manager.Error{Kind: manager.KindUnavailable, Message: "away"}
	full := &manager.Error{Kind: manager.KindNoSpace, Message: "full"}
	inject := func(op backendtest.Op, f backendtest.Fault) func(*testing.T, *server, schemas.SnapshotID) {
		f.Times = 1
		return func(_ *testing.T, s *server, _ schemas.SnapshotID) { s.fake.Inject(op, f) }
	}
	tamper := func(change func([]byte) []byte) func(*testing.T, *server, schemas.SnapshotID) {
		return func(t *testing.T, s *server, id schemas.SnapshotID) { rewrite(t, s.tarFile(id), change) }
	}
	for name, c := range map[string]struct {
		fault func(*testing.T, *server, schemas.SnapshotID)
		kind  manager.Kind
	}{
		"create":             {inject(backendtest.OpCreate, backendtest.Fault{Before: boom}), manager.KindBackend},
		"create, too late":   {inject(backendtest.OpCreate, backendtest.Fault{After: boom}), manager.KindBackend},
		"create, away":       {inject(backendtest.OpCreate, backendtest.Fault{After: down}), manager.KindUnavailable},
		"deadline":           {inject(backendtest.OpSetDeadline, backendtest.Fault{Before: boom}), manager.KindBackend},
		"unpack":             {inject(backendtest.OpUnpack, backendtest.Fault{Before: boom}), manager.KindBackend},
		"unpack, at its end": {inject(backendtest.OpUnpack, backendtest.Fault{After: boom}), manager.KindBackend},
		"unpack, lost":       {inject(backendtest.OpUnpack, backendtest.Fault{After: lost}), manager.KindBackend},
		"unpack, no space":   {inject(backendtest.OpUnpack, backendtest.Fault{After: full}), manager.KindNoSpace},
		"name taken": {func(_ *testing.T, s *server, _ schemas.SnapshotID) {
			s.fake.PlantVolume("agent-sandbox-"+string(s.only())+"-2", false)
		}, manager.KindBackend},
		"G17 one bit flipped": {tamper(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), manager.KindConflict},
		"G17 last bit":        {tamper(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), manager.KindConflict},
		"cut short":           {tamper(func(b []byte) []byte { return b[:len(b)-1] }), manager.KindConflict},
		"longer":              {tamper(func(b []byte) []byte { return append(b, 0) }), manager.KindConflict},
		"empty":               {tamper(func(b []byte) []byte { return nil }), manager.KindConflict},
		"zeros":               {tamper(func(b []byte) []byte { return make([]byte, len(b)) }), manager.KindConflict},
		"missing":             {func(_ *testing.T, s *server, id schemas.SnapshotID) { os.Remove(s.tarFile(id)) }, manager.KindConflict},
		"a directory": {func(_ *testing.T, s *server, id schemas.SnapshotID) {
			os.Remove(s.tarFile(id))
			os.Mkdir(s.tarFile(id), 0o700)
		}, manager.KindConflict},
		"deleted": {func(_ *testing.T, s *server, id schemas.SnapshotID) { s.DeleteSnapshot(s.t.Context(), owner, id) }, manager.KindNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			b := s.create()
			s.mustSh(b.ID, "echo old > f")
			snap, spare := s.snap(b.ID), s.snap(b.ID)
			s.mustSh(b.ID, "echo new > f")
			inFlight := s.background(b.ID, "while :; do if test -e go; then exit 5; fi; sleep 0.01; done")
			before, err := s.Get(t.Context(), owner, b.ID)
			if err != nil {
				t.Fatal(err)
			}
			c.fault(t, s, snap.ID)
			others := len(s.fake.Volumes()) - 1
			_, err = s.rollback(b.ID, snap.ID)
			wantFailure(t, err, c.kind)
			if name != "deleted" && c.kind == manager.KindConflict && manager.Public(err).Hint == "" {
				t.Errorf("no hint: %v", err)
			}
			after, err := s.Get(t.Context(), owner, b.ID)
			if err != nil || after != before {
				t.Errorf("sandbox was %+v, is %+v, %v", before, after, err)
			}
			if c, v := s.fake.Containers(), s.fake.Volumes(); len(c) != 1 || len(v) != 1+others {
				t.Errorf("left are %q, %q", c, v)
			}
			s.mustSh(b.ID, "echo x > go")
			if r, err := inFlight(); err != nil || r.ExitCode != 5 {
				t.Errorf("command in flight: %+v, %v", r, err)
			}
			if got := s.mustSh(b.ID, "cat f"); got != "new\n" {
				t.Errorf("workspace has %q", got)
			}
			s.mustRollback(b.ID, spare.ID)
			if got := s.mustSh(b.ID, "cat f"); got != "old\n" {
				t.Errorf("workspace has %q", got)
			}
		})
	}
}

func rewrite(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, change(bytes.Clone(data)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The switch itself cannot be written down: the rollback is undone, later when
// not even that can be.
func TestRollbackWhenTheRecordCannotBeWritten(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.ReapInterval = 10 * time.Millisecond })
	b := s.create()
	s.mustSh(b.ID, "echo old > f")
	snap := s.snap(b.ID)
	s.mustSh(b.ID, "echo new > f")
	hold := make(chan struct{})
	s.fake.Inject(backendtest.OpUnpack, backendtest.Fault{Times: 1, Hold: hold})
	done := make(chan error, 1)
	go func() {
		_, err := s.rollback(b.ID, snap.ID)
		done <- err
	}()
	eventually(t, "unpack", func() bool { return s.fake.Calls(backendtest.OpUnpack) == 1 })
	mend := blockFile(t, s.recordFile(b.ID))
	close(hold)
	if err := <-done; err == nil {
		t.Error("rollback succeeded")
	}
	if got := s.mustSh(b.ID, "cat f"); got != "new\n" {
		t.Errorf("workspace has %q", got)
	}
	mend()
	s.wantSandboxes(1)
	eventually(t, "the undoing lets a rollback in", func() bool {
		_, err := s.rollback(b.ID, snap.ID)
		return err == nil
	})
	if got := s.mustSh(b.ID, "cat f"); got != "old\n" {
		t.Errorf("workspace has %q", got)
	}
}

// blockFile makes every replacement of a file fail until mend.
func blockFile(t *testing.T, file string) (mend func()) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.Remove(file)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(file, "in the way"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		err := os.RemoveAll(file)
		if err == nil {
			err = os.WriteFile(file, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The image of the old incarnation is gone from the backend: its reference is
// resolved anew.
func TestRollbackResolvesAGoneImageAgain(t *testing.T) {
	s := start(t)
	s.fake.AddImage("made:1", true)
	b := s.create(schemas.CreateSandboxRequest{Image: "made:1"})
	snap := s.snap(b.ID)
	s.fake.RemoveImage("made:1")
	_, err := s.rollback(b.ID, snap.ID)
	wantInvalid(t, err, "made:1")
	s.mustSh(b.ID, "true")
	s.fake.AddImage("made:1", false)
	s.mustRollback(b.ID, snap.ID)
	s.wantSandboxes(1)
}

// I7: the server is killed while a rollback is made. The next one finds the
// sandbox as it was, and removes what was begun.
func TestI7ServerDiesDuringRollback(t *testing.T) {
	s := start(t)
	b := s.create()
	s.mustSh(b.ID, "echo old > f")
	snap := s.snap(b.ID)
	s.mustSh(b.ID, "echo new > f")
	s.fake.Inject(backendtest.OpUnpack, backendtest.Fault{Times: 1, Hold: make(chan struct{})})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.Rollback(ctx, owner, b.ID, schemas.RollbackRequest{SnapshotID: snap.ID})
		done <- err
	}()
	eventually(t, "unpack", func() bool { return s.fake.Calls(backendtest.OpUnpack) == 1 })
	after := s.afterCrash()
	after.wantSandboxes(1)
	if got := after.mustSh(b.ID, "cat f"); got != "new\n" {
		t.Errorf("workspace has %q", got)
	}
	after.mustRollback(b.ID, snap.ID)
	if got := after.mustSh(b.ID, "cat f"); got != "old\n" {
		t.Errorf("workspace has %q", got)
	}
	cancel()
	<-done
}

// H1: a destroy at any moment of a rollback wins, and nothing is left. The
// rollback says what happened.
func TestH1DestroyDuringRollback(t *testing.T) {
	for _, op := range []backendtest.Op{backendtest.OpCreate, backendtest.OpSetDeadline, backendtest.OpUnpack} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s late=%t", op, late), func(t *testing.T) {
				s := start(t)
				b := s.create()
				snap := s.snap(b.ID)
				never, calls := make(chan struct{}), s.fake.Calls(op)
				if late {
					s.fake.Inject(op, backendtest.Fault{Times: 1, Hold: never})
				} else {
					s.fake.Inject(op, backendtest.Fault{Times: 1, Wait: never})
				}
				done := make(chan error, 1)
				go func() {
					_, err := s.rollback(b.ID, snap.ID)
					done <- err
				}()
				eventually(t, "call", func() bool { return s.fake.Calls(op) > calls })
				if err := s.Destroy(t.Context(), owner, b.ID); err != nil {
					t.Errorf("destroy: %v", err)
				}
				if e := wantKind(t, <-done, manager.KindGone); e.Reason != manager.ReasonDestroyed {
					t.Errorf("got %+v", e)
				}
				s.wantNothingLeft()
			})
		}
	}
}

// H1 again, at random moments.
func TestH1DestroyRacesRollback(t *testing.T) {
	s := start(t)
	for range 30 {
		b := s.create()
		snap := s.snap(b.ID)
		var wg sync.WaitGroup
		var rolled error
		wg.Go(func() { _, rolled = s.rollback(b.ID, snap.ID) })
		wg.Go(func() {
			if err := s.Destroy(t.Context(), owner, b.ID); err != nil {
				t.Errorf("destroy: %v", err)
			}
		})
		wg.Wait()
		if k := manager.KindOf(rolled); rolled != nil && k != manager.KindGone && k != manager.KindNotFound {
			t.Errorf("rollback: %v", rolled)
		}
		_, err := s.Get(t.Context(), owner, b.ID)
		wantKind(t, err, manager.KindNotFound)
		s.wantNothingLeft()
	}
}

func TestRollbackCallerGoesAway(t *testing.T) {
	for _, op := range []backendtest.Op{backendtest.OpCreate, backendtest.OpUnpack} {
		t.Run(string(op), func(t *testing.T) {
			s := start(t)
			b := s.create()
			s.mustSh(b.ID, "echo kept > f")
			snap := s.snap(b.ID)
			calls := s.fake.Calls(op)
			s.fake.Inject(op, backendtest.Fault{Times: 1, Hold: make(chan struct{})})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := s.Rollback(ctx, owner, b.ID, schemas.RollbackRequest{SnapshotID: snap.ID})
				done <- err
			}()
			eventually(t, "call", func() bool { return s.fake.Calls(op) > calls })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			s.wantSandboxes(1)
			if got := s.mustSh(b.ID, "cat f"); got != "kept\n" {
				t.Errorf("got %q", got)
			}
			s.mustRollback(b.ID, snap.ID)
		})
	}
}

// I6: the expiry is what it was, a renewal during a rollback counts, and a
// rollback that lasts beyond the expiry is told so.
func TestI6RollbackAndExpiry(t *testing.T) {
	slow := func(s *server, d time.Duration) {
		s.fake.Inject(backendtest.OpUnpack, backendtest.Fault{Times: 1, Delay: d})
	}
	t.Run("unchanged", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := start(t)
			b := s.create(withTTL(10))
			snap := s.snap(b.ID)
			slow(s, 8*time.Second)
			if got := s.mustRollback(b.ID, snap.ID); !got.ExpiresAt.Equal(b.ExpiresAt) {
				t.Errorf("expiry was %v, is %v", b.ExpiresAt, got.ExpiresAt)
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if !s.isGone(b.ID) {
				t.Error("it outlives its expiry")
			}
			s.wantNothingLeft()
		})
	})
	t.Run("renewed meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := start(t)
			b := s.create(withTTL(10))
			snap := s.snap(b.ID)
			slow(s, 8*time.Second)
			done := make(chan error, 1)
			go func() {
				_, err := s.rollback(b.ID, snap.ID)
				done <- err
			}()
			time.Sleep(4 * time.Second)
			if err := s.renew(b.ID, 100); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Second)
			if st := s.status(b.ID); st != schemas.StatusRunning {
				t.Errorf("status is %s: the guest kept its old deadline", st)
			}
		})
	})
	t.Run("expired meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := start(t)
			b := s.create(withTTL(10))
			snap := s.snap(b.ID)
			slow(s, time.Hour)
			_, err := s.rollback(b.ID, snap.ID)
			if e := wantKind(t, err, manager.KindGone); e.Reason != manager.ReasonExpired {
				t.Errorf("got %+v", e)
			}
			synctest.Wait()
			s.wantNothingLeft()
		})
	})
}

// Two rollbacks of one sandbox: one at a time.
func TestParallelRollbacks(t *testing.T) {
	s := start(t)
	b := s.create()
	snap := s.snap(b.ID)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, err := s.rollback(b.ID, snap.ID); err != nil {
				wantKind(t, err, manager.KindConflict)
			}
		})
	}
	wg.Wait()
	s.mustSh(b.ID, "true")
	s.wantSandboxes(1)
}

// A rollback that is destroyed in its last moment, with its old incarnation still
// to be removed, does not bring the erased record back. Which of the two removes
// first is up to the scheduler.
func TestErasedRecordStaysErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		for range 20 {
			b := s.create()
			snap := s.snap(b.ID)
			s.fake.Inject(backendtest.OpSetDeadline, backendtest.Fault{Times: 1}) // of the incarnation that is made
			s.fake.Inject(backendtest.OpSetDeadline, backendtest.Fault{Times: 1, Hold: make(chan struct{})})
			done := make(chan error, 1)
			go func() {
				_, err := s.rollback(b.ID, snap.ID)
				done <- err
			}()
			synctest.Wait()
			if err := s.Destroy(t.Context(), owner, b.ID); err != nil {
				t.Error(err)
			}
			wantKind(t, <-done, manager.KindGone)
			synctest.Wait()
			s.wantNothingLeft()
			if left := s.records(); len(left) > 0 {
				t.Fatalf("records: %v", left)
			}
		}
	})
}
