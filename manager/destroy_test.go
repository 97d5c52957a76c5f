package manager_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	s.wantNothingLeft()
	if n := s.fake.Calls(backendtest.OpRemove); n != 1 {
		t.Errorf("removed %d times", n)
	}
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
			if err := s.Destroy(t.Context(), owner, id); err != nil {
				t.Error(err)
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

// H4: destroy answers as soon as that is on disk, while the backend is still at
// the removal; that holds up nobody else, and takes no slot.
func TestH4DestroyAnswersAtOnce(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxSandboxes = 2 })
	slow, other := s.create().ID, s.create().ID
	release := make(chan struct{})
	s.fake.Inject(backendtest.OpRemove, backendtest.Fault{Times: 1, Wait: release})
	if err := s.Destroy(t.Context(), owner, slow); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.cfg.DataDir, "sandboxes", string(slow)+".json"))
	if err != nil || !strings.Contains(string(text), `"destroying"`) {
		t.Errorf("the record is %s, %v", text, err)
	}
	if !s.isGone(slow) {
		t.Error("it is still found")
	}
	wantKind(t, s.Destroy(t.Context(), owner, slow), manager.KindNotFound)
	if n := s.Stats().Condemned; n != 1 {
		t.Errorf("%d are condemned", n)
	}
	s.mustSh(other, "true")
	s.create()
	if err := s.Destroy(t.Context(), owner, other); err != nil {
		t.Error(err)
	}
	eventually(t, "the other one is gone", func() bool { return s.Stats().Condemned == 1 })
	close(release)
	list, err := s.List(t.Context(), owner, schemas.Page{})
	if err != nil || len(list.Sandboxes) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	s.Destroy(t.Context(), owner, list.Sandboxes[0].ID)
	s.wantNothingLeft()
}

// What hangs in the backend takes no slot, but does not pile up: more and more
// is first waited for, and then refused. Few are removed at a time.
func TestDestroyedDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(c *manager.Config) { c.MaxSandboxes = 1 })
		release := make(chan struct{})
		s.fake.Inject(backendtest.OpRemove, backendtest.Fault{Wait: release})
		destroyed, waiting := 0, 0
		for {
			b, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{})
			if err != nil {
				if e := wantKind(t, err, manager.KindLimit); !e.Retryable || !strings.Contains(e.Message, "removed") {
					t.Errorf("refused with %v", e)
				}
				break
			}
			destroyed++
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if err := s.Destroy(ctx, owner, b.ID); err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				waiting++
			}
			cancel()
		}
		synctest.Wait()
		if n := s.fake.Calls(backendtest.OpRemove); n != 8 {
			t.Errorf("%d are removed at a time", n)
		}
		if destroyed != 16 || waiting != 8 {
			t.Errorf("%d were destroyed, %d of them waited for", destroyed, waiting)
		}
		close(release)
		s.wantNothingLeft()
		s.create()
	})
}

// events counts what a manager tells of.
type events struct {
	mu   sync.Mutex
	seen map[manager.Event]int
}

func (e *events) Operation(string, string, time.Duration) {}

func (e *events) Event(event manager.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen == nil {
		e.seen = map[manager.Event]int{}
	}
	e.seen[event]++
}

func (e *events) count(event manager.Event) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen[event]
}

// A removal that fails is counted, and done again.
func TestDestroyFailsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen events
		s := start(t, func(c *manager.Config) { c.Observer = &seen })
		id := s.create().ID
		s.fake.Inject(backendtest.OpRemove, backendtest.Fault{Times: 2, Before: errors.New("busy")})
		if err := s.Destroy(t.Context(), owner, id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := s.Stats().Condemned; n != 1 {
			t.Errorf("%d are condemned", n)
		}
		time.Sleep(3 * s.cfg.ReapInterval)
		s.wantNothingLeft()
		if n := seen.count(manager.EventRemovalFailed); n != 2 {
			t.Errorf("told of %d failures", n)
		}
	})
}
