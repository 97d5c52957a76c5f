package manager_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func withPool(n int) func(*manager.Config) {
	return func(c *manager.Config) { c.WarmPool = n }
}

func (s *server) awaitSpares(n int) {
	s.t.Helper()
	eventually(s.t, "the pool is full", func() bool { return s.Stats().Spares == n })
}

func (s *server) containerState(name string) manager.ContainerState {
	state, err := s.fake.Inspect(s.t.Context(), manager.Ref{Container: name})
	if err != nil {
		s.t.Fatal(err)
	}
	return state.Container
}

func TestPoolGivesWhatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withPool(2))
		s.awaitSpares(2)
		made := s.fake.Calls(backendtest.OpCreate)
		memory := int64(1024)
		a := s.create(schemas.CreateSandboxRequest{MemoryMB: &memory, Env: map[string]string{"A": "b"}})
		if n := s.fake.Calls(backendtest.OpCreate); n != made {
			t.Errorf("%d containers were made for a sandbox that the pool has", n-made)
		}
		if a.MemoryMB != 1024 || s.mustSh(a.ID, "echo $A; ls; touch f") != "b\n" {
			t.Errorf("sandbox is %+v", a)
		}
		s.awaitSpares(2)
		if list, err := s.List(t.Context(), owner, schemas.Page{}); err != nil || len(list.Sandboxes) != 1 {
			t.Errorf("listed are %+v, %v", list, err)
		}
		if err := s.Destroy(t.Context(), owner, a.ID); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s.wantNothingLeft()
	})
}

// What a sandbox is made of outlives restarts, wherever it came from.
func TestPoolSandboxesOutliveTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withPool(1))
		s.awaitSpares(1)
		id := s.create().ID
		s.mustSh(id, "echo kept > f")
		s.Close()
		s = restart(t, s)
		if got := s.mustSh(id, "cat f"); got != "kept\n" {
			t.Errorf("file is %q", got)
		}
		time.Sleep(20 * time.Minute) // past the age of orphans, and the first expiry
	})
}

func TestPoolServesForkAndRollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withPool(3))
		id := s.create().ID
		s.mustSh(id, "echo saved > f")
		snap, err := s.Snapshot(t.Context(), owner, id, schemas.SnapshotRequest{})
		if err != nil {
			t.Fatal(err)
		}
		s.awaitSpares(3)
		made := s.fake.Calls(backendtest.OpCreate)
		s.mustSh(id, "echo spoilt > f")
		if _, err := s.Rollback(t.Context(), owner, id, schemas.RollbackRequest{SnapshotID: snap.ID}); err != nil {
			t.Fatal(err)
		}
		fork, err := s.Fork(t.Context(), owner, snap.ID, schemas.ForkRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if n := s.fake.Calls(backendtest.OpCreate); n != made {
			t.Errorf("%d containers were made", n-made)
		}
		for _, id := range []schemas.SandboxID{id, fork.Sandboxes[0].ID} {
			if got := s.mustSh(id, "cat f"); got != "saved\n" {
				t.Errorf("file is %q", got)
			}
		}
	})
}

func TestPoolIsNotFor(t *testing.T) {
	yes, no := true, false
	for name, req := range map[string]schemas.CreateSandboxRequest{
		"another image": {Image: backendtest.BusyboxImage},
		"network":       {Network: &yes},
		"writable root": {ReadOnlyRootfs: &no},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, withPool(1))
				s.awaitSpares(1)
				s.create(req)
				if n := s.Stats().Spares; n != 1 {
					t.Errorf("%d spares are left", n)
				}
			})
		})
	}
}

// A spare that cannot be used costs time, not the call; nothing of it stays.
func TestPoolSpareThatFails(t *testing.T) {
	for name, spoil := range map[string]func(s *server){
		"adopt fails before": func(s *server) {
			s.fake.Inject(backendtest.OpAdopt, backendtest.Fault{Times: 1, Before: errors.New("no")})
		},
		"adopt fails after": func(s *server) {
			s.fake.Inject(backendtest.OpAdopt, backendtest.Fault{Times: 1, After: errors.New("no")})
		},
		"it is silent": func(s *server) {
			s.fake.Inject(backendtest.OpSetDeadline, backendtest.Fault{Times: 1, Delay: time.Hour})
		},
		"it was removed": func(s *server) {
			for _, name := range s.fake.Containers() {
				s.fake.RemoveContainer(name)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, withPool(1))
				s.awaitSpares(1)
				spoil(s)
				id := s.create().ID
				s.mustSh(id, "true")
				s.awaitSpares(1)
				if c, v := s.fake.Containers(), s.fake.Volumes(); len(c) != 2 || len(v) != 2 {
					t.Errorf("there are %q and %q for a sandbox and a spare", c, v)
				}
			})
		})
	}
}

// A failed creation leaves nothing of the spare that it took.
func TestPoolSpareOfAFailedFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withPool(1))
		id := s.create().ID
		snap, err := s.Snapshot(t.Context(), owner, id, schemas.SnapshotRequest{})
		if err != nil {
			t.Fatal(err)
		}
		s.awaitSpares(1)
		s.fake.Inject(backendtest.OpUnpack, backendtest.Fault{Before: errors.New("no")})
		if _, err := s.Fork(t.Context(), owner, snap.ID, schemas.ForkRequest{}); err == nil {
			t.Fatal("fork succeeded")
		}
		if _, err := s.Rollback(t.Context(), owner, id, schemas.RollbackRequest{SnapshotID: snap.ID}); err == nil {
			t.Fatal("rollback succeeded")
		}
		s.awaitSpares(1)
		s.mustSh(id, "true")
		eventually(t, "only sandbox and spare are left", func() bool { return len(s.fake.Volumes()) == 2 && len(s.fake.Containers()) == 2 })
	})
}

// A spare of an image that is no longer the default's is not used.
func TestPoolFollowsTheImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withPool(1), func(c *manager.Config) { c.DefaultImage = backendtest.BusyboxImage })
		s.awaitSpares(1)
		before := s.fake.Volumes()
		s.fake.Retag(backendtest.BusyboxImage)
		s.create()
		s.awaitSpares(1)
		eventually(t, "the old spare is gone", func() bool {
			for _, name := range s.fake.Volumes() {
				if name == before[0] {
					return false
				}
			}
			return true
		})
	})
}

// Spares are no orphans, however old they are, and live as long as the server.
func TestPoolSparesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withPool(2))
		s.awaitSpares(2)
		before := s.fake.Containers()
		time.Sleep(3 * time.Hour)
		if s.Stats().Spares != 2 || len(s.fake.Containers()) != 2 || s.fake.Containers()[0] != before[0] {
			t.Errorf("after hours: %q, before %q", s.fake.Containers(), before)
		}
		id := s.create(schemas.CreateSandboxRequest{TimeoutSeconds: ptr[int64](7200)}).ID
		time.Sleep(7190 * time.Second)
		s.mustSh(id, "true") // no deadline of the pool's is left in it
	})
}

// Without a server spares end by themselves, and the next server removes them.
func TestPoolSparesEndWithoutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withPool(1))
		s.awaitSpares(1)
		s.fake.Inject(backendtest.OpRemove, backendtest.Fault{Before: errors.New("killed")}) // as if Close never ran
		s.Close()
		s.fake.Heal(backendtest.OpRemove)
		name := s.fake.Containers()[0]
		time.Sleep(time.Hour)
		if got := s.containerState(name); got != manager.ContainerStopped {
			t.Errorf("an hour later the spare is %s", got)
		}
		s = restart(t, s)
		eventually(t, "the old spare is removed", func() bool { return s.containerState(name) == manager.ContainerGone })
	})
}

// 20 at once, with spares for a few: each is a sandbox of its own.
func TestPoolBurst(t *testing.T) {
	s := start(t, withPool(3))
	s.awaitSpares(3)
	var wg sync.WaitGroup
	ids := make([]schemas.SandboxID, 20)
	for i := range ids {
		wg.Go(func() {
			b, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{})
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			ids[i] = b.ID
			s.mustSh(b.ID, "echo "+string(b.ID)+" > f")
		})
	}
	wg.Wait()
	for _, id := range ids {
		if got := s.mustSh(id, "cat f"); got != string(id)+"\n" {
			t.Errorf("%s has %q", id, got)
		}
	}
	for _, id := range ids {
		wg.Go(func() { s.Destroy(t.Context(), owner, id) })
	}
	wg.Wait()
	s.Close()
	s.wantNothingLeft()
}

// A spare that cannot be made is tried again soon after, though nobody asks for a
// sandbox.
func TestPoolAfterTrouble(t *testing.T) {
	for _, op := range []backendtest.Op{backendtest.OpCreate, backendtest.OpHasImage} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, withPool(1))
			s.awaitSpares(1)
			time.Sleep(time.Hour)
			s.create() // takes the spare; another is made when it is calm
			s.fake.Inject(op, backendtest.Fault{Times: 2, Before: &manager.Error{Kind: manager.KindBackend}})
			time.Sleep(15 * time.Second)
			synctest.Wait()
			if n := s.Stats().Spares; n != 1 {
				t.Errorf("%d spares after trouble with %v", n, op)
			}
		})
	}
}
