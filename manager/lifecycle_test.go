package manager_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func withTTL(seconds int64) schemas.CreateSandboxRequest {
	return schemas.CreateSandboxRequest{TimeoutSeconds: &seconds}
}

func (s *server) renew(id schemas.SandboxID, seconds int64) error {
	_, err := s.SetTimeout(s.t.Context(), owner, id, schemas.SetTimeoutRequest{TimeoutSeconds: seconds})
	return err
}

func (s *server) isGone(id schemas.SandboxID) bool {
	_, err := s.Get(s.t.Context(), owner, id)
	return manager.KindOf(err) == manager.KindNotFound
}

func TestListPages(t *testing.T) {
	s := start(t)
	var want []schemas.SandboxID
	for i := range 5 {
		want = append(want, s.create(schemas.CreateSandboxRequest{Name: fmt.Sprint(i)}).ID)
	}
	var got []schemas.SandboxID
	for page := (schemas.Page{Limit: 2}); ; {
		list, err := s.List(t.Context(), owner, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list.Sandboxes {
			got = append(got, b.ID)
		}
		// What goes between two pages takes nothing else with it.
		if len(got) == 2 {
			s.Destroy(t.Context(), owner, want[1])
		}
		if page.Cursor = list.NextCursor; page.Cursor == "" {
			break
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, p := range []schemas.Page{{Limit: -1}, {Limit: 1001}, {Cursor: "???"}} {
		if _, err := s.List(t.Context(), owner, p); manager.KindOf(err) != manager.KindInvalid {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if l, err := s.List(t.Context(), "nobody", schemas.Page{}); err != nil || l.Sandboxes == nil || len(l.Sandboxes) != 0 {
		t.Errorf("of nobody: %+v, %v", l, err)
	}
}

// O1, O2: what is another's, gone or never was is told apart by nothing.
func TestO2UnknownIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		foreign, destroyed, expired := s.create().ID, s.create().ID, s.create(withTTL(1)).ID
		if err := s.Destroy(t.Context(), owner, destroyed); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		ids := map[schemas.SandboxID]manager.Owner{foreign: "other", destroyed: owner, expired: owner, schemas.NewSandboxID(): owner}
		for id, o := range ids {
			for op, err := range everyCall(t.Context(), s, o, id) {
				e := wantKind(t, err, manager.KindNotFound)
				if want := "no sandbox " + string(id); e.Message != want || e.Retryable || e.Reason != "" {
					t.Errorf("%s says %+v", op, e)
				}
			}
		}
		s.mustSh(foreign, "true")
		for _, id := range []schemas.SandboxID{"", "sb_", "../x", "sb_0123456789abcdeF", "sb_0123456789abcdef0", "snap_0123456789abcdef"} {
			for _, err := range everyCall(t.Context(), s, owner, id) {
				wantInvalid(t, err, "sandbox_id")
			}
		}
	})
}

func everyCall(ctx context.Context, s *server, o manager.Owner, id schemas.SandboxID) map[string]error {
	errs := map[string]error{}
	_, errs["get"] = s.Get(ctx, o, id)
	_, errs["renew"] = s.SetTimeout(ctx, o, id, schemas.SetTimeoutRequest{TimeoutSeconds: 5})
	_, _, errs["exec"] = s.Exec(ctx, o, id, schemas.ExecRequest{Command: shell("true")})
	_, _, errs["stream"] = s.ExecStream(ctx, o, id, schemas.ExecRequest{Command: shell("true")}, nil)
	_, errs["list execs"] = s.ListExecs(ctx, o, id)
	_, errs["poll"] = s.PollExec(ctx, o, id, someExec, schemas.ExecPoll{})
	_, errs["watch"] = s.WatchExec(ctx, o, id, someExec, schemas.ExecPoll{}, 0, nil)
	errs["input"] = s.InputExec(ctx, o, id, someExec, nil, true)
	errs["signal"] = s.SignalExec(ctx, o, id, someExec, schemas.SignalRequest{Signal: "INT"})
	errs["kill"] = s.KillExec(ctx, o, id, someExec)
	_, _, errs["read"] = s.ReadFile(ctx, o, id, "f", 0, -1)
	_, errs["write"] = s.WriteFile(ctx, o, id, "f", "", strings.NewReader(""))
	_, errs["list files"] = s.ListFiles(ctx, o, id, ".", schemas.Page{})
	errs["archive"] = s.ReadArchive(ctx, o, id, ".", nil)
	errs["delete"] = s.DeleteFile(ctx, o, id, "f", false)
	errs["destroy"] = s.Destroy(ctx, o, id)
	return errs
}

// I3, I4: absolute, also for what is never used, polled or stopped.
func TestI4TimeToLiveIsAbsolute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		used, unused, stopped := s.create(withTTL(5)).ID, s.create(withTTL(5)).ID, s.create(withTTL(5)).ID
		s.fake.StopContainer(containerOf(stopped))
		for range 24 {
			time.Sleep(200 * time.Millisecond)
			s.mustSh(used, "true")
			s.List(t.Context(), owner, schemas.Page{})
		}
		time.Sleep(200 * time.Millisecond)
		for _, id := range []schemas.SandboxID{used, unused, stopped} {
			if !s.isGone(id) {
				t.Errorf("%s is still there", id)
			}
		}
		synctest.Wait()
		s.wantNothingLeft()
	})
}

func TestSetTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create(withTTL(5)).ID
		time.Sleep(4 * time.Second)
		got, err := s.SetTimeout(t.Context(), owner, id, schemas.SetTimeoutRequest{TimeoutSeconds: 100})
		if err != nil || time.Until(got.ExpiresAt) != 100*time.Second {
			t.Fatalf("%+v, %v", got, err)
		}
		time.Sleep(99 * time.Second)
		s.mustSh(id, "true") // the guest was told, too
		if err := s.renew(id, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if !s.isGone(id) {
			t.Error("a shorter time does not count")
		}
		for _, bad := range []int64{0, -1, 86401} {
			if err := s.renew(id, bad); manager.KindOf(err) != manager.KindInvalid {
				t.Errorf("%d: %v", bad, err)
			}
		}
	})
}

// A guest that does not answer holds up renewals for a while, however many, and
// is told later: it would else end at its old deadline, and all that runs in it.
func TestRenewalsOfASilentGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create(withTTL(20)).ID
		slept := make(chan error, 1)
		go func() {
			_, err := s.sh(id, "sleep 50")
			slept <- err
		}()
		s.fake.Inject(backendtest.OpSetDeadline, backendtest.Fault{Times: 1, Wait: make(chan struct{})})
		var wg sync.WaitGroup
		began := time.Now()
		for range 3 {
			wg.Go(func() {
				if err := s.renew(id, 100); err != nil {
					t.Errorf("renew: %v", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("renewing took %v", took)
		}
		if err := <-slept; err != nil {
			t.Errorf("the command ended with %v", err)
		}
	})
}

// I1: a renewal at the moment of expiry is done or refused, never half.
func TestI1RenewRacesExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(c *manager.Config) { c.MaxSandboxes = 100 })
		var wg sync.WaitGroup
		for i := range 60 {
			id := s.create(withTTL(3)).ID
			wg.Go(func() {
				time.Sleep(3*time.Second + time.Duration(i-30)*time.Microsecond)
				err := s.renew(id, 3)
				if i < 30 && err != nil || i > 30 && err == nil {
					t.Errorf("renewed %d µs after expiry: %v", i-30, err)
				}
				if err != nil {
					wantKind(t, err, manager.KindNotFound)
				}
				time.Sleep(2900 * time.Millisecond)
				if s.isGone(id) != (err != nil) {
					t.Errorf("renewal said %v, but gone is %v", err, s.isGone(id))
				}
				time.Sleep(200 * time.Millisecond)
				if !s.isGone(id) {
					t.Error("still there past its new expiry")
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		s.wantNothingLeft()
	})
}

// I5: a command that runs into the expiry says so; calls at the edge are done
// or not found, nothing else.
func TestI5ExpiryUnderACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create(withTTL(4)).ID
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := s.sh(id, "sleep 60")
			if e := wantKind(t, err, manager.KindGone); e.Reason != manager.ReasonExpired {
				t.Errorf("reason is %q", e.Reason)
			}
		})
		for i := range 50 {
			wg.Go(func() {
				time.Sleep(4*time.Second + time.Duration(i-25)*time.Millisecond)
				_, err := s.sh(id, "true")
				if k := manager.KindOf(err); err != nil && k != manager.KindNotFound && k != manager.KindGone {
					t.Errorf("at the edge: %v", err)
				}
			})
		}
		wg.Wait()
	})
}

// A failing removal is tried again; clients have long been told that the
// sandbox is gone.
func TestExpiryIsFinishedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create(withTTL(1)).ID
		s.fake.Inject(backendtest.OpRemove, backendtest.Fault{Times: 2, Before: &manager.Error{Kind: manager.KindBackend, Message: "busy"}})
		time.Sleep(time.Second)
		if !s.isGone(id) {
			t.Error("found after its expiry")
		}
		synctest.Wait()
		if len(s.fake.Containers()) != 1 {
			t.Fatal("the first removal did not fail")
		}
		time.Sleep(25 * time.Second)
		s.wantNothingLeft()
		s.create()
	})
}

// I15: what expired while no server ran is destroyed at the start.
func TestI15ExpiredWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		expired, alive := s.create(withTTL(5)).ID, s.create(withTTL(50)).ID
		s.Close()
		time.Sleep(10 * time.Second)
		s = restart(t, s)
		synctest.Wait()
		if !s.isGone(expired) || s.isGone(alive) {
			t.Error("the wrong one is gone")
		}
		if got := s.fake.Containers(); len(got) != 1 {
			t.Errorf("containers: %q", got)
		}
		time.Sleep(40 * time.Second)
		if !s.isGone(alive) {
			t.Error("a restart made it live longer")
		}
	})
}

// H13: five things that went wrong, five codes, each with what to do.
func TestH13ErrorsAreTold(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.fake.GoDown()
	_, down := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{})
	s.fake.ComeBack()
	_, unknown := s.Get(t.Context(), owner, schemas.NewSandboxID())
	_, bad := s.sh(id, "")
	s.fake.RemoveVolume(containerOf(id))
	_, failed := s.sh(id, "true")
	for want, err := range map[schemas.Code]error{
		schemas.CodeBackendUnavailable: down, schemas.CodeNotFound: unknown,
		schemas.CodeInvalidRequest: bad, schemas.CodeConflict: failed,
	} {
		p := manager.Public(err)
		if p.Code != want || p.Message == "" || p.Retryable != (want == schemas.CodeBackendUnavailable) {
			t.Errorf("want %s, got %+v", want, p)
		}
	}
	if s.status(id) != schemas.StatusFailed {
		t.Error("status does not say that the workspace is gone")
	}
}
