package manager_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestH2ParallelDestroy(t *testing.T) {
	s := start(t)
	id := s.create().ID
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := s.Destroy(t.Context(), owner, id); err != nil {
				wantKind(t, err, manager.KindNotFound)
			}
		})
	}
	wg.Wait()
	if n := s.fake.Calls(backendtest.OpRemove); n != 1 {
		t.Errorf("removed %d times", n)
	}
	s.wantNothingLeft()
}

func TestH2DestroyRacesExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		for i := range 20 {
			id := s.create(withTTL(1)).ID
			time.Sleep(time.Second + time.Duration(i-10)*time.Microsecond)
			if err := s.Destroy(t.Context(), owner, id); err != nil {
				wantKind(t, err, manager.KindNotFound)
			}
		}
		synctest.Wait()
		s.wantNothingLeft()
	})
}

// H3: destroy works in every state.
func TestH3DestroyInEveryState(t *testing.T) {
	states := map[string]func(f *backendtest.Fake, name string){
		"running":        func(*backendtest.Fake, string) {},
		"stopped":        (*backendtest.Fake).StopContainer,
		"paused":         (*backendtest.Fake).PauseContainer,
		"container gone": (*backendtest.Fake).RemoveContainer,
		"volume gone":    (*backendtest.Fake).RemoveVolume,
	}
	for name, act := range states {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			id := s.create().ID
			act(s.fake, containerOf(id))
			if err := s.Destroy(t.Context(), owner, id); err != nil {
				t.Fatal(err)
			}
			s.wantNothingLeft()
			s.Close()
			if l, err := restart(t, s).List(t.Context(), owner, schemas.Page{}); err != nil || len(l.Sandboxes) != 0 {
				t.Errorf("after a restart: %v, %v", l, err)
			}
		})
	}
}

func TestH3ExecOnPaused(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.fake.PauseContainer(containerOf(id))
	_, err := s.sh(id, "true")
	wantKind(t, err, manager.KindBackend)
}

// B14, H10: what runs inside ends with the reason, at once.
func TestB14DestroyUnderACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		done := make(chan error, 1)
		go func() {
			_, err := s.sh(id, "sleep 999")
			done <- err
		}()
		synctest.Wait()
		begin := time.Now()
		if err := s.Destroy(t.Context(), owner, id); err != nil {
			t.Fatal(err)
		}
		if e := wantKind(t, <-done, manager.KindGone); e.Reason != manager.ReasonDestroyed {
			t.Errorf("reason is %q", e.Reason)
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// A guest that does not let go of a call keeps nobody from destroying.
func TestB14DestroyUnderAHungGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		release := make(chan struct{})
		go s.WriteFile(t.Context(), owner, id, "f", "", stuckReader(release))
		synctest.Wait()
		begin := time.Now()
		if err := s.Destroy(t.Context(), owner, id); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("took %v", d)
		}
		s.wantNothingLeft()
		close(release)
	})
}

type stuckReader chan struct{}

func (r stuckReader) Read([]byte) (int, error) {
	<-r
	return 0, context.Canceled
}

// J3: with the backend away the sandbox is given up, and removed when the
// backend is back, by this server or the next.
func TestJ3DestroyWhileBackendIsAway(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t)
			id := s.create().ID
			s.fake.GoDown()
			if e := wantKind(t, s.Destroy(t.Context(), owner, id), manager.KindUnavailable); !e.Retryable {
				t.Error("not retryable")
			}
			wantKind(t, s.Destroy(t.Context(), owner, id), manager.KindNotFound)
			if again {
				s.Close()
				s = restart(t, s)
			}
			time.Sleep(time.Minute)
			s.fake.ComeBack()
			time.Sleep(time.Minute)
			s.wantNothingLeft()
			if !s.isGone(id) {
				t.Error("it is back")
			}
		})
	}
}

// The caller of a destroy may leave; the removal goes on.
func TestDestroyCallerGoesAway(t *testing.T) {
	s := start(t)
	id := s.create().ID
	gate := make(chan struct{})
	s.fake.Inject(backendtest.OpRemove, backendtest.Fault{Times: 1, Wait: gate})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Destroy(ctx, owner, id) }()
	eventually(t, "remove", func() bool { return s.fake.Calls(backendtest.OpRemove) == 1 })
	cancel()
	<-done
	close(gate)
	eventually(t, "gone", func() bool { return len(s.fake.Containers())+len(s.fake.Volumes()) == 0 })
}

// H4: one slow destroy holds up nobody else.
func TestH4SlowDestroy(t *testing.T) {
	s := start(t)
	slow, other := s.create().ID, s.create().ID
	gate := make(chan struct{})
	s.fake.Inject(backendtest.OpRemove, backendtest.Fault{Times: 1, Wait: gate})
	done := make(chan error, 1)
	go func() { done <- s.Destroy(t.Context(), owner, slow) }()
	eventually(t, "remove", func() bool { return s.fake.Calls(backendtest.OpRemove) == 1 })
	s.mustSh(other, "true")
	s.create()
	if err := s.Destroy(t.Context(), owner, other); err != nil {
		t.Error(err)
	}
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
