package manager_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestForkIsLikeItsSourceButForOverrides(t *testing.T) {
	s := start(t)
	b := s.create(schemas.CreateSandboxRequest{
		Name: "source", Image: backendtest.BusyboxImage, CPUs: ptr(0.5), MemoryMB: ptr[int64](64), PidsLimit: ptr[int64](40),
		ReadOnlyRootfs: ptr(false), TimeoutSeconds: ptr[int64](60), Env: map[string]string{"A": "1", "B": "1"},
	})
	snap := s.snap(b.ID)
	plain := s.mustFork(snap.ID)
	if plain.Name != "" || plain.Image != b.Image || plain.CPUs != 0.5 || plain.MemoryMB != 64 || plain.PidsLimit != 40 || plain.Network || plain.ReadOnlyRootfs {
		t.Errorf("got %+v", plain)
	}
	if ttl := plain.ExpiresAt.Sub(plain.CreatedAt); ttl != 900*time.Second {
		t.Errorf("time to live is %v", ttl)
	}
	r, err := s.fork(snap.ID, schemas.ForkRequest{
		Name: "fork", CPUs: ptr(2.0), MemoryMB: ptr[int64](128), PidsLimit: ptr[int64](50), Network: ptr(true),
		TimeoutSeconds: ptr[int64](30), Env: map[string]string{"B": "2", "C": "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Sandboxes[0]
	if f.ID == b.ID || f.Name != "fork" || f.CPUs != 2 || f.MemoryMB != 128 || f.PidsLimit != 50 || !f.Network || f.ExpiresAt.Sub(f.CreatedAt) != 30*time.Second {
		t.Errorf("got %+v", f)
	}
	if got := s.mustSh(f.ID, "echo $A$B$C"); got != "122\n" {
		t.Errorf("environment is %q", got)
	}
	if got := s.mustSh(b.ID, "echo $A$B$C"); got != "11\n" {
		t.Errorf("the source's environment is %q", got)
	}
}

func TestForkRefuses(t *testing.T) {
	s := start(t)
	b := s.create()
	snap := s.snap(b.ID)
	type req = schemas.ForkRequest
	for name, c := range map[string]struct {
		req   req
		names string
	}{
		"count 0":         {req{Count: ptr(0)}, "count"},
		"count negative":  {req{Count: ptr(-1)}, "count"},
		"count too large": {req{Count: ptr(21)}, "1 to 20"},
		"ttl":             {req{TimeoutSeconds: ptr[int64](0)}, "timeout_seconds"},
		"cpus":            {req{CPUs: ptr(99.0)}, "cpus"},
		"memory":          {req{MemoryMB: ptr[int64](1)}, "memory_mb"},
		"pids":            {req{PidsLimit: ptr[int64](1)}, "pids_limit"},
		"name":            {req{Name: "\x00"}, "name"},
		"env":             {req{Env: map[string]string{"A=": ""}}, "env"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.fork(snap.ID, c.req)
			wantInvalid(t, err, c.names)
			_, err = s.ForkSandbox(t.Context(), owner, b.ID, c.req)
			wantInvalid(t, err, c.names)
		})
	}
	s.wantSandboxes(1)
	if n := len(s.snapshots()); n != 1 {
		t.Errorf("there are %d snapshots", n)
	}
}

// A fork is a creation of today: limits that were tightened since hold.
func TestForkObeysTheLimitsOfNow(t *testing.T) {
	s := start(t)
	b := s.create(schemas.CreateSandboxRequest{Image: backendtest.BusyboxImage, Network: ptr(true), MemoryMB: ptr[int64](4096)})
	snap := s.snap(b.ID)
	own := s.snap(s.create().ID)
	s.Close()
	s.cfg.AllowNetwork, s.cfg.MaxMemoryMB, s.cfg.AllowedImages = false, 1024, []string{"alpine"}
	s = restart(t, s)
	_, err := s.fork(snap.ID, schemas.ForkRequest{})
	wantInvalid(t, err, "memory_mb")
	_, err = s.fork(snap.ID, schemas.ForkRequest{MemoryMB: ptr[int64](64)})
	wantKind(t, err, manager.KindForbidden)
	_, err = s.fork(snap.ID, schemas.ForkRequest{MemoryMB: ptr[int64](64), Network: ptr(false)})
	if e := wantKind(t, err, manager.KindForbidden); !strings.Contains(e.Message, backendtest.BusyboxImage) {
		t.Errorf("got %+v", e)
	}
	s.mustFork(own.ID) // of the default image, which needs no leave
}

func TestForkSeveralAtOnce(t *testing.T) {
	s := start(t)
	b := s.create()
	s.mustSh(b.ID, "echo x > f")
	r, err := s.fork(s.snap(b.ID).ID, schemas.ForkRequest{Count: ptr(5)})
	if err != nil || len(r.Sandboxes) != 5 || len(r.Errors) != 0 || r.Errors == nil {
		t.Fatalf("got %+v, %v", r, err)
	}
	ids := map[schemas.SandboxID]bool{}
	for _, f := range r.Sandboxes {
		ids[f.ID] = true
		if got := s.mustSh(f.ID, "cat f; echo "+string(f.ID)+" > f"); got != "x\n" {
			t.Errorf("got %q", got)
		}
	}
	if len(ids) != 5 {
		t.Errorf("IDs are %v", ids)
	}
	for id := range ids {
		if got := s.mustSh(id, "cat f"); got != string(id)+"\n" {
			t.Errorf("%s holds %q", id, got)
		}
	}
}

// H7: forks count against the limit, each by itself; what does not fit is told
// and leaves nothing.
func TestH7ForksCountAgainstTheLimit(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxSandboxes = 3 })
	b := s.create()
	s.create()
	snap := s.snap(b.ID)
	r, err := s.fork(snap.ID, schemas.ForkRequest{Count: ptr(3)})
	if err != nil || len(r.Sandboxes) != 1 || len(r.Errors) != 2 {
		t.Fatalf("got %+v, %v", r, err)
	}
	for _, e := range r.Errors {
		if e.Code != schemas.CodeLimitExceeded || !e.Retryable || e.Hint == "" {
			t.Errorf("got %+v", e)
		}
	}
	for _, count := range []*int{nil, ptr(1)} {
		_, err = s.fork(snap.ID, schemas.ForkRequest{Count: count})
		wantKind(t, err, manager.KindLimit)
	}
	_, err = s.ForkSandbox(t.Context(), owner, b.ID, schemas.ForkRequest{})
	wantKind(t, err, manager.KindLimit)
	s.wantSandboxes(3)
	if n := len(s.snapshots()); n != 1 {
		t.Errorf("there are %d snapshots", n)
	}
}

// H8 for forks: a failed one frees its slot.
func TestFailedForkLeavesNothing(t *testing.T) {
	boom := &manager.Error{Kind: manager.KindBackend, Message: "boom"}
	for name, c := range map[string]struct {
		op    backendtest.Op
		fault backendtest.Fault
	}{
		"create":             {backendtest.OpCreate, backendtest.Fault{Times: 3, After: boom}},
		"unpack":             {backendtest.OpUnpack, backendtest.Fault{Times: 3, Before: boom}},
		"unpack, at its end": {backendtest.OpUnpack, backendtest.Fault{Times: 3, After: boom}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(c *manager.Config) { c.MaxSandboxes = 2 })
			snap := s.snap(s.create().ID)
			s.fake.Inject(c.op, c.fault)
			for range 3 {
				_, err := s.fork(snap.ID, schemas.ForkRequest{})
				wantKind(t, err, manager.KindBackend)
				s.wantSandboxes(1)
			}
			s.mustFork(snap.ID)
		})
	}
}

// I11: forks from a snapshot that is damaged make nothing, time after time.
func TestI11ForkFromADamagedSnapshot(t *testing.T) {
	s := start(t)
	b := s.create()
	if err := s.put(b.ID, "noise", noise(100_000)); err != nil {
		t.Fatal(err)
	}
	snap := s.snap(b.ID)
	rewrite(t, s.tarFile(snap.ID), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	for range 5 {
		_, err := s.fork(snap.ID, schemas.ForkRequest{})
		if e := wantKind(t, err, manager.KindConflict); !strings.Contains(e.Message, string(snap.ID)) || e.Retryable {
			t.Errorf("got %+v", e)
		}
	}
	r, err := s.fork(snap.ID, schemas.ForkRequest{Count: ptr(3)})
	if err != nil || len(r.Sandboxes) != 0 || len(r.Errors) != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
	s.wantSandboxes(1)
}

// G15: a child does not notice that the snapshot it came from is deleted.
func TestG15ChildOutlivesItsSnapshot(t *testing.T) {
	s := start(t)
	b := s.create()
	s.mustSh(b.ID, "echo x > f")
	snap := s.snap(b.ID)
	child := s.mustFork(snap.ID)
	if err := s.DeleteSnapshot(t.Context(), owner, snap.ID); err != nil {
		t.Fatal(err)
	}
	own := s.snap(child.ID)
	s.mustSh(child.ID, "rm f")
	s.mustRollback(child.ID, own.ID)
	if got := s.mustSh(child.ID, "cat f"); got != "x\n" {
		t.Errorf("got %q", got)
	}
	_, err := s.rollback(child.ID, snap.ID)
	wantKind(t, err, manager.KindNotFound)
}

// G15: a delete that races a fork gives a whole workspace or none.
func TestG15DeleteRacesFork(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxSandboxes = 100 })
	b := s.create()
	if err := s.put(b.ID, "noise", noise(200_000)); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		snap := s.snap(b.ID)
		var wg sync.WaitGroup
		wg.Go(func() {
			r, err := s.fork(snap.ID, schemas.ForkRequest{})
			if err != nil {
				wantKind(t, err, manager.KindNotFound)
				return
			}
			if got, err := s.get(r.Sandboxes[0].ID, "noise"); err != nil || got != noise(200_000) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
		wg.Go(func() {
			if err := s.DeleteSnapshot(t.Context(), owner, snap.ID); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	}
	if len(s.snapFiles()) > 0 {
		t.Errorf("left are %q", s.snapFiles())
	}
}

// A fork that is reading goes on when the snapshot is deleted under it.
func TestG15DeleteUnderAFork(t *testing.T) {
	s := start(t)
	b := s.create()
	s.mustSh(b.ID, "echo x > f")
	snap := s.snap(b.ID)
	wait := make(chan struct{})
	s.fake.Inject(backendtest.OpUnpack, backendtest.Fault{Times: 1, Wait: wait})
	type outcome struct {
		r   schemas.ForkResult
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := s.fork(snap.ID, schemas.ForkRequest{})
		done <- outcome{r, err}
	}()
	eventually(t, "unpack", func() bool { return s.fake.Calls(backendtest.OpUnpack) == 1 })
	if err := s.DeleteSnapshot(t.Context(), owner, snap.ID); err != nil {
		t.Fatal(err)
	}
	close(wait)
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	if got := s.mustSh(o.r.Sandboxes[0].ID, "cat f"); got != "x\n" {
		t.Errorf("got %q", got)
	}
}

func TestForkSandbox(t *testing.T) {
	s := start(t)
	b := s.create(schemas.CreateSandboxRequest{Env: map[string]string{"A": "1"}})
	s.mustSh(b.ID, "echo x > f")
	inFlight := s.background(b.ID, "while :; do if test -e go; then exit 5; fi; sleep 0.01; done")
	r, err := s.ForkSandbox(t.Context(), owner, b.ID, schemas.ForkRequest{Count: ptr(2)})
	if err != nil || len(r.Sandboxes) != 2 {
		t.Fatalf("got %+v, %v", r, err)
	}
	snaps := s.snapshots()
	for _, f := range r.Sandboxes {
		if got := s.mustSh(f.ID, "cat f; echo $A"); got != "x\n1\n" || len(snaps) != 1 || *f.SourceSnapshotID != snaps[0] {
			t.Errorf("got %q, %+v; snapshots are %q", got, f, snaps)
		}
	}
	s.mustSh(b.ID, "echo x > go")
	if res, err := inFlight(); err != nil || res.ExitCode != 5 {
		t.Errorf("command in the source: %+v, %v", res, err)
	}
}

func TestForkSandboxThatFailsKeepsNoSnapshot(t *testing.T) {
	s := start(t)
	b := s.create()
	s.fake.Inject(backendtest.OpUnpack, backendtest.Fault{Before: &manager.Error{Kind: manager.KindBackend, Message: "boom"}})
	_, err := s.ForkSandbox(t.Context(), owner, b.ID, schemas.ForkRequest{})
	wantKind(t, err, manager.KindBackend)
	s.wantSandboxes(1)
	if len(s.snapFiles()) > 0 {
		t.Errorf("left are %q", s.snapFiles())
	}
	s.fake.RemoveVolume(containerOf(b.ID))
	_, err = s.ForkSandbox(t.Context(), owner, b.ID, schemas.ForkRequest{})
	wantKind(t, err, manager.KindConflict)
}

// I6: a fork of a sandbox with a second left has its own full time to live.
func TestI6ForkHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		b := s.create(withTTL(10))
		time.Sleep(9 * time.Second)
		r, err := s.ForkSandbox(t.Context(), owner, b.ID, schemas.ForkRequest{TimeoutSeconds: ptr[int64](20)})
		if err != nil {
			t.Fatal(err)
		}
		f := r.Sandboxes[0]
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if !s.isGone(b.ID) || s.isGone(f.ID) {
			t.Errorf("source gone: %t, fork gone: %t", s.isGone(b.ID), s.isGone(f.ID))
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		s.wantNothingLeft()
	})
}

// H6: the caller of a fork goes away; nothing is left that is not listed.
func TestH6ForkCallerGoesAway(t *testing.T) {
	s := start(t)
	b := s.create()
	snap := s.snap(b.ID)
	s.fake.Inject(backendtest.OpUnpack, backendtest.Fault{Times: 2, Hold: make(chan struct{})})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Fork(ctx, owner, snap.ID, schemas.ForkRequest{})
		done <- err
	}()
	eventually(t, "unpack", func() bool { return s.fake.Calls(backendtest.OpUnpack) == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.wantSandboxes(1)
	if s.only() != b.ID {
		t.Error("the fork is listed")
	}
}

// I7: the server is killed while forks are made and a snapshot is taken. The next
// one has the snapshots that were complete, and nothing of the rest.
func TestI7ServerDiesDuringForkAndSnapshot(t *testing.T) {
	s := start(t)
	b := s.create()
	snap := s.snap(b.ID)
	never := make(chan struct{})
	s.fake.Inject(backendtest.OpUnpack, backendtest.Fault{Times: 2, Hold: never})
	s.fake.Inject(backendtest.OpPack, backendtest.Fault{Times: 1, Hold: never})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.Fork(ctx, owner, snap.ID, schemas.ForkRequest{Count: ptr(2)}) })
	wg.Go(func() { s.Snapshot(ctx, owner, b.ID, schemas.SnapshotRequest{}) })
	eventually(t, "unpack and pack", func() bool {
		return s.fake.Calls(backendtest.OpUnpack) == 2 && s.fake.Calls(backendtest.OpPack) == 2
	})
	after := s.afterCrash()
	after.wantSandboxes(1)
	if after.only() != b.ID || len(after.snapshots()) != 1 || len(after.snapFiles()) != 2 {
		t.Errorf("listed are %q, files %q", after.snapshots(), after.snapFiles())
	}
	after.mustFork(snap.ID)
	cancel()
	wg.Wait()
}

// A snapshot whose file was replaced by another's whole one is refused as well.
func TestG17ForkFromASwappedFile(t *testing.T) {
	s := start(t)
	b := s.create()
	first := s.snap(b.ID)
	s.mustSh(b.ID, "echo x > f")
	second := s.snap(b.ID)
	if err := os.Rename(s.tarFile(second.ID), s.tarFile(first.ID)); err != nil {
		t.Fatal(err)
	}
	_, err := s.fork(first.ID, schemas.ForkRequest{})
	wantKind(t, err, manager.KindConflict)
	s.wantSandboxes(1)
}

// Close waits for a fork that is between its snapshot and its sandbox: what it
// undoes is undone before the next server looks.
func TestForkSandboxIsUndoneBeforeCloseIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		b := s.create()
		hold := make(chan struct{})
		s.fake.Inject(backendtest.OpHasImage, backendtest.Fault{Times: 1}) // before the snapshot
		s.fake.Inject(backendtest.OpHasImage, backendtest.Fault{Times: 1, Hold: hold})
		forked := make(chan error, 1)
		go func() {
			_, err := s.ForkSandbox(t.Context(), owner, b.ID, schemas.ForkRequest{})
			forked <- err
		}()
		synctest.Wait()
		if left := s.snapFiles(); len(left) != 2 {
			t.Fatalf("the snapshot is not made yet: %v", left)
		}
		time.AfterFunc(time.Second, func() { close(hold) })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left := s.snapFiles(); len(left) > 0 {
			t.Errorf("the next server finds %v", left)
		}
		wantKind(t, <-forked, manager.KindUnavailable)
	})
}
