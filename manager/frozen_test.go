package manager_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
)

// freezer is a backend whose containers are frozen without a word on their
// connections, as a paused container's are.
type freezer struct {
	*backendtest.Fake
	frozen atomic.Bool
}

func (f *freezer) Inspect(ctx context.Context, ref manager.Ref) (manager.State, error) {
	state, err := f.Fake.Inspect(ctx, ref)
	if f.frozen.Load() {
		state.Container = manager.ContainerPaused
	}
	return state, err
}

// H3: calls into a frozen container, new or under way, end with a typed error.
func TestH3CallsOnFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		s.Close()
		f := &freezer{Fake: s.fake}
		m, err := manager.New(s.cfg, f)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		m.Start()
		s.Manager = m
		id := s.create().ID

		done := make(chan error, 1)
		go func() {
			_, err := s.sh(id, "sleep 50")
			done <- err
		}()
		time.Sleep(5 * time.Second) // it has long been looked at
		f.frozen.Store(true)
		begin := time.Now()
		s.fake.Inject(backendtest.OpStat, backendtest.Fault{Times: 1, Wait: make(chan struct{})})
		_, err = s.StatFile(t.Context(), owner, id, "f")
		s.fake.PauseContainer(containerOf(id)) // for Open to see it, too
		if d := time.Since(begin); err == nil || d > 5*time.Second {
			t.Errorf("stat: %v after %v", err, d)
		}
		wantKind(t, <-done, manager.KindBackend)
	})
}

// A container that is frozen for a moment loses nothing.
func TestFrozenForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		s.Close()
		f := &freezer{Fake: s.fake}
		m, err := manager.New(s.cfg, f)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		m.Start()
		s.Manager = m
		id := s.create().ID
		f.frozen.Store(true)
		time.AfterFunc(2*time.Second, func() { f.frozen.Store(false) })
		s.mustSh(id, "sleep 20")
	})
}
