package manager_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (s *server) recordFile(id schemas.SandboxID) string {
	return filepath.Join(s.cfg.DataDir, "sandboxes", string(id)+".json")
}

// J11: a restart changes nothing for clients.
func TestJ11Restart(t *testing.T) {
	s := start(t)
	before := s.create(schemas.CreateSandboxRequest{Name: "n", Env: map[string]string{"A": "b"}})
	s.mustSh(before.ID, "echo kept > f")
	s.Close()
	s = restart(t, s)
	if got := s.mustSh(before.ID, "cat f; echo $A"); got != "kept\nb\n" {
		t.Errorf("output is %q", got)
	}
	after, err := s.Get(t.Context(), owner, before.ID)
	if err != nil || after != before {
		t.Errorf("%+v, %v; was %+v", after, err, before)
	}
}

// J2, I8: what is ours and has no record goes; what is another's stays.
func TestJ2Orphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		lost, kept := s.create().ID, s.create().ID
		s.Close()
		if err := os.Remove(s.recordFile(lost)); err != nil {
			t.Fatal(err)
		}
		s.fake.PlantContainer("agent-sandbox-foreign", false)
		s.fake.PlantVolume("agent-sandbox-foreign", false)
		s.fake.PlantVolume("orphan", true)
		time.Sleep(time.Second)
		s = restart(t, s)
		synctest.Wait()
		want := []string{"agent-sandbox-foreign", containerOf(kept)}
		slices.Sort(want)
		if got := s.fake.Containers(); !slices.Equal(got, want) {
			t.Errorf("containers: %q; want %q", got, want)
		}
		if got := s.fake.Volumes(); !slices.Equal(got, want) {
			t.Errorf("volumes: %q; want %q", got, want)
		}
	})
}

// The dry run names what would go, and touches nothing.
func TestOrphansDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := backendtest.NewFake(t)
		fake.PlantContainer("orphan", true)
		time.Sleep(time.Second)
		m, err := manager.New(testConfig(t), fake)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for range 2 {
			got, err := m.Orphans(t.Context())
			if err != nil || len(got) != 1 || got[0].Name != "orphan" {
				t.Fatalf("%v, %v", got, err)
			}
		}
	})
}

// What is being made is never taken for an orphan, however long it takes.
func TestReconcileSparesWhatIsBeingMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		gate := make(chan struct{})
		s.fake.Inject(backendtest.OpCreate, backendtest.Fault{Times: 1, Hold: gate})
		done := make(chan schemas.Sandbox, 1)
		go func() { done <- s.create() }()
		time.Sleep(time.Hour)
		if err := s.RemoveOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(gate)
		s.mustSh((<-done).ID, "true")
	})
}

// I7: a server that dies in the middle of a create leaves work for the next.
func TestI7KilledDuringCreate(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.Close()
	edit(t, s.recordFile(id), `"state": "running"`, `"state": "creating"`)
	s = restart(t, s)
	eventually(t, "removed", func() bool { return len(s.fake.Containers())+len(s.fake.Volumes()) == 0 })
	if !s.isGone(id) {
		t.Error("found")
	}
	eventually(t, "record erased", func() bool { _, err := os.Stat(s.recordFile(id)); return os.IsNotExist(err) })
}

func edit(t *testing.T, file, from, to string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), from) {
		t.Fatalf("%s holds %s: %v", file, data, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A record that cannot be used is set aside, with what it stood for, and stops
// neither the start nor the others.
func TestCorruptRecord(t *testing.T) {
	damage := map[string]func(t *testing.T, file string){
		"empty":   func(t *testing.T, file string) { os.WriteFile(file, nil, 0o600) },
		"cut":     func(t *testing.T, file string) { os.Truncate(file, 40) },
		"version": func(t *testing.T, file string) { edit(t, file, `"version": 1`, `"version": 99`) },
		"state":   func(t *testing.T, file string) { edit(t, file, `"running"`, `"dancing"`) },
		"key":     func(t *testing.T, file string) { edit(t, file, `"key"`, `"kex"`) },
		"id":      func(t *testing.T, file string) { edit(t, file, `"id": "sb_`, `"id": "sb_0`) },
		"a directory": func(t *testing.T, file string) {
			os.Remove(file)
			os.Mkdir(file, 0o700)
		},
	}
	for name, act := range damage {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			bad, good := s.create().ID, s.create().ID
			s.Close()
			act(t, s.recordFile(bad))
			s = restart(t, s)
			s.mustSh(good, "true")
			if !s.isGone(bad) {
				t.Error("found")
			}
			if _, err := os.Stat(s.recordFile(bad) + ".corrupt"); err != nil {
				t.Error(err)
			}
			eventually(t, "orphans removed", func() bool { return slices.Equal(s.fake.Containers(), []string{containerOf(good)}) })
		})
	}
}

// J3: the backend is away at the start; nothing is forgotten.
func TestJ3BackendIsAwayAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create(withTTL(3600)).ID
		s.mustSh(id, "echo kept > f")
		s.Close()
		s.fake.PlantContainer("orphan", true)
		s.fake.GoDown()
		time.Sleep(time.Second)
		s = restart(t, s)
		_, err := s.sh(id, "true")
		if e := wantKind(t, err, manager.KindUnavailable); !e.Retryable || e.Hint == "" {
			t.Errorf("error says too little: %+v", e)
		}
		if l, err := s.List(t.Context(), owner, schemas.Page{}); err != nil || len(l.Sandboxes) != 1 {
			t.Errorf("list: %v, %v", l, err)
		}
		time.Sleep(10 * time.Minute)
		s.fake.ComeBack()
		time.Sleep(20 * time.Second)
		if got := s.fake.Containers(); len(got) != 1 {
			t.Errorf("not reconciled: %q", got)
		}
		if got := s.mustSh(id, "cat f"); got != "kept\n" {
			t.Errorf("file holds %q", got)
		}
	})
}

// J5, J6, H12: status is true soon, and the next use starts what stopped, on
// the same files.
func TestJ5ContainersStop(t *testing.T) {
	acts := map[string]func(f *backendtest.Fake, name string){
		"stopped": (*backendtest.Fake).StopContainer,
		"removed": (*backendtest.Fake).RemoveContainer,
	}
	for name, act := range acts {
		for _, again := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := start(t)
				id := s.create().ID
				s.mustSh(id, "echo kept > f")
				if again {
					s.Close()
				}
				act(s.fake, containerOf(id))
				if again {
					s = restart(t, s)
				}
				eventually(t, "stopped", func() bool { return s.status(id) == schemas.StatusStopped })
				if got := s.mustSh(id, "cat f"); got != "kept\n" {
					t.Errorf("file holds %q", got)
				}
				if s.status(id) != schemas.StatusRunning {
					t.Error("status is not running again")
				}
			})
		}
	}
}

// J4: a workspace that is gone is an error that says so, never an empty one.
func TestJ4WorkspaceIsGone(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := start(t)
		id := s.create().ID
		if again {
			s.Close()
		}
		s.fake.RemoveVolume(containerOf(id))
		s.fake.RemoveContainer(containerOf(id))
		if again {
			s = restart(t, s)
		}
		eventually(t, "failed", func() bool { return s.status(id) == schemas.StatusFailed })
		_, err := s.sh(id, "true")
		if e := wantKind(t, err, manager.KindConflict); !strings.Contains(e.Hint, "Roll back") {
			t.Errorf("error says too little: %+v", e)
		}
		if len(s.fake.Containers())+len(s.fake.Volumes()) > 0 {
			t.Error("something was made")
		}
		if err := s.Destroy(t.Context(), owner, id); err != nil {
			t.Error(err)
		}
	}
}

// Before the first round of the reconciler a sandbox is shown as its record has
// it; what the backend says comes after, also when a timeout is set.
func TestStatusRightAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		s.Close()
		m, err := manager.New(s.cfg, s.fake)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		status := func() schemas.Status {
			l, err := m.List(t.Context(), owner, schemas.Page{})
			if err != nil || len(l.Sandboxes) != 1 {
				t.Fatalf("%+v, %v", l, err)
			}
			return l.Sandboxes[0].Status
		}
		if got := status(); got != schemas.StatusRunning {
			t.Errorf("right after the restart it is %s", got)
		}
		s.fake.StopContainer(containerOf(id))
		if b, err := m.SetTimeout(t.Context(), owner, id, schemas.SetTimeoutRequest{TimeoutSeconds: 900}); err != nil || b.Status != schemas.StatusStopped {
			t.Errorf("with a new timeout it is %s, %v", b.Status, err)
		}
		s.fake.StopContainer(containerOf(id))
		m.Start()
		synctest.Wait()
		if got := status(); got != schemas.StatusStopped {
			t.Errorf("after a look it is %s", got)
		}
	})
}

// The sweep looks at what nobody is connected to.
func TestStatusBySweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		s.Close()
		s = restart(t, s)
		synctest.Wait()
		s.fake.StopContainer(containerOf(id))
		time.Sleep(11 * time.Second)
		if l, err := s.List(t.Context(), owner, schemas.Page{}); err != nil || l.Sandboxes[0].Status != schemas.StatusStopped {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

// A backend in trouble may leave something that no record knows, or make it when
// nobody waits for it any more.
func TestReconcileAfterTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		synctest.Wait()
		s.fake.Inject(backendtest.OpPrepareImage, backendtest.Fault{Times: 1, Before: &manager.Error{Kind: manager.KindBackend}})
		s.fake.PlantContainer("helper", true)
		if _, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{}); manager.KindOf(err) != manager.KindBackend {
			t.Fatalf("create: %v", err)
		}
		synctest.Wait()
		if got := s.fake.Containers(); len(got) != 0 {
			t.Errorf("at once: %q", got)
		}
		s.fake.PlantContainer("late", true)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if got := s.fake.Containers(); len(got) != 0 {
			t.Errorf("a little later: %q", got)
		}
	})
}

// The backend goes on with what a server has asked for that was killed.
func TestReconcileAfterDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		for range 2 {
			time.Sleep(time.Second)
			s.fake.PlantContainer("late", true)
			s.fake.PlantVolume("late", true)
			time.Sleep(45 * time.Second)
			synctest.Wait()
			s.wantNothingLeft()
		}
	})
}
