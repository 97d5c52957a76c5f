package manager_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestNewMakesNoBackendCall(t *testing.T) {
	fake := backendtest.NewFake(t)
	fake.Inject(backendtest.OpProbe, backendtest.Fault{Before: errors.New("called")})
	m, err := manager.New(testConfig(t), fake)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if fake.Calls(backendtest.OpProbe)+fake.Calls(backendtest.OpList) > 0 {
		t.Error("New called the backend")
	}
}

func TestDataDirHasOneOwner(t *testing.T) {
	s := start(t)
	_, err := manager.New(s.cfg, s.fake)
	if !errors.Is(err, manager.ErrDataDirHeld) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("error is %v", err)
	}
	s.Close()
	m, err := manager.New(s.cfg, s.fake)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	m.Close()
}

func TestDataDirIsPrivate(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.DataDir = filepath.Join(c.DataDir, "new") })
	id := s.create().ID
	for path, want := range map[string]os.FileMode{s.cfg.DataDir: 0o700, filepath.Dir(s.recordFile(id)): 0o700, s.recordFile(id): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

func TestStrayTemporaryFilesGo(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.Close()
	stray := filepath.Join(filepath.Dir(s.recordFile(id)), "."+string(id)+".json123")
	if err := os.WriteFile(stray, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = restart(t, s)
	if _, err := os.Stat(stray); !os.IsNotExist(err) {
		t.Error("it is still there")
	}
	s.mustSh(id, "true")
}

// Close ends what runs with a typed error, and keeps the sandboxes.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		never := make(chan struct{})
		s.fake.Inject(backendtest.OpPrepareImage, backendtest.Fault{Times: 1, Wait: never})
		exec, create := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := s.sh(id, "sleep 999")
			exec <- err
		}()
		go func() {
			_, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{})
			create <- err
		}()
		synctest.Wait()
		begin := time.Now()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d > 4*time.Second {
			t.Errorf("took %v", d)
		}
		for _, err := range []error{<-exec, <-create} {
			if e := wantKind(t, err, manager.KindUnavailable); !strings.Contains(e.Message, "shutting down") {
				t.Errorf("message is %q", e.Message)
			}
		}
		for op, err := range everyCall(t.Context(), s, owner, id) {
			if manager.KindOf(err) != manager.KindUnavailable {
				t.Errorf("%s after Close: %v", op, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("again: %v", err)
		}
		s = restart(t, s)
		s.mustSh(id, "true")
	})
}

// Who waits for a sandbox to start when the server ends is told just that.
func TestCloseDuringOpenings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		s.fake.Inject(backendtest.OpOpen, backendtest.Fault{Wait: make(chan struct{})})
		execs := make(chan error, 20)
		for range cap(execs) {
			id := s.create().ID
			s.fake.StopContainer(containerOf(id))
			go func() {
				_, err := s.sh(id, "true")
				execs <- err
			}()
		}
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range cap(execs) {
			wantKind(t, <-execs, manager.KindUnavailable)
		}
	})
}
