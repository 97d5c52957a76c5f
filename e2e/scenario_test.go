package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestScenario: what an agent does, from the first file to the last fork, and
// several things at once.
func TestScenario(t *testing.T) {
	t.Parallel()
	s := start(t, "--max-sandboxes=6")
	alone(t, s, []testCase[*server]{
		{"work, snapshot, break, roll back, fork", agentLoop},
		{"two commands at once", twoAtOnce},
		{"H1 destroy during rollback", destroyDuringRollback},
		{"H2 destroy twice", destroyTwice},
		{"H7 H8 limit", sandboxLimit},
		{"H10 rollback under a command", rollbackUnderCommand},
		{"H11 failed commands cost nothing", failedCommands},
	})
}

func agentLoop(s *server) {
	b := s.create(args{"image": base, "name": "agent"})
	b.write("app.py", "print('version 1')\n")
	good := b.snapshot("good")
	if good.SandboxID != b.ID || good.Image != b.Image || good.ParentID != nil || good.SizeBytes <= 0 || good.Files < 1 {
		s.t.Errorf("the snapshot is %+v", good)
	}
	b.must("rm app.py; echo rubbish > new")
	b.rollback(good.ID)
	if out := b.must("python3 app.py; ls"); out != "version 1\napp.py\n" {
		s.t.Errorf("after the rollback: %q", out)
	}
	r := call[schemas.ForkResult](s, "fork", args{"snapshot_id": good.ID, "count": 3, "memory_mb": 128, "env": map[string]string{"TRY": "fork"}})
	if len(r.Sandboxes) != 3 || len(r.Errors) != 0 {
		s.t.Fatalf("fork: %+v", r)
	}
	for i, f := range r.Sandboxes {
		fork := &sandbox{s, f}
		fork.write("app.py", fmt.Sprintf("import os; print('version', %d, os.environ['TRY'])\n", i+2))
		if out := fork.must("python3 app.py"); out != fmt.Sprintf("version %d fork\n", i+2) || f.MemoryMB != 128 {
			s.t.Errorf("fork %d: %q, %+v", i, out, f)
		}
	}
	if out := b.must("python3 app.py"); out != "version 1\n" {
		s.t.Errorf("the source has changed: %q", out)
	}
	live := call[schemas.ForkResult](s, "fork", args{"sandbox_id": b.ID})
	if len(live.Sandboxes) != 1 || live.Sandboxes[0].SourceSnapshotID == nil || *live.Sandboxes[0].SourceSnapshotID == good.ID {
		s.t.Errorf("fork of a running sandbox: %+v", live)
	}
}

func twoAtOnce(s *server) {
	b := s.create()
	took(s.t, 4*time.Second, "two commands that wait for each other", func() {
		wait := inBackground(func() {
			if r := b.sh("touch a; until [ -e b ]; do sleep 0.05; done; echo first"); r.Stdout != "first\n" {
				s.t.Errorf("first: %+v", r)
			}
		})
		if r := b.sh("touch b; until [ -e a ]; do sleep 0.05; done; echo second"); r.Stdout != "second\n" {
			s.t.Errorf("second: %+v", r)
		}
		wait()
	})
}

func destroyDuringRollback(s *server) {
	for i := range count(4, 50) {
		b := s.create()
		snap := b.snapshot("x")
		wait := inBackground(func() {
			s.Call(ctx(s.t), "rollback", args{"sandbox_id": b.ID, "snapshot_id": snap.ID}, nil)
		})
		time.Sleep(time.Duration(i) * 100 * time.Millisecond % (500 * time.Millisecond)) // another moment of the rollback each time
		err := s.destroy(b.ID)
		wait()
		if err != nil && client.Code(err) != string(schemas.CodeConflict) {
			s.t.Errorf("destroy: %v", err)
		}
		if err == nil && len(s.list()) != 0 {
			s.t.Errorf("it is still listed: %+v", s.list())
		}
		s.empty()
		orphaned(s)
	}
}

func destroyTwice(s *server) {
	b := s.create()
	repeat(s.t, 10, 10, func(int) error {
		if err := s.destroy(b.ID); err != nil && client.Code(err) != string(schemas.CodeNotFound) {
			return err
		}
		return nil
	})
	orphaned(s)
}

func sandboxLimit(s *server) {
	for range 2 {
		var mu sync.Mutex
		made := 0
		repeat(s.t, 10, 10, func(int) error {
			_, err := try[schemas.Sandbox](s, "sandbox_create", args{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
			} else if client.Code(err) != string(schemas.CodeLimitExceeded) {
				return err
			}
			return nil
		})
		if made != 6 {
			s.t.Errorf("%d were made, the limit is 6", made)
		}
		orphaned(s)
		if len(s.list()) > 1 {
			s.oneFork()
		}
		s.empty()
	}
}

// oneFork: at the limit a slot that becomes free is one fork's.
func (s *server) oneFork() {
	b := &sandbox{s, s.list()[0]}
	snap := b.snapshot("x")
	s.refuse("fork", args{"snapshot_id": snap.ID}, schemas.CodeLimitExceeded)
	check(s.t, s.destroy(s.list()[1].ID))
	r := call[schemas.ForkResult](s, "fork", args{"snapshot_id": snap.ID, "count": 3})
	if len(r.Sandboxes) != 1 || len(r.Errors) != 2 || r.Errors[0].Code != schemas.CodeLimitExceeded {
		s.t.Errorf("three forks with one slot: %+v", r)
	}
	orphaned(s)
}

func rollbackUnderCommand(s *server) {
	b := s.create()
	snap := b.snapshot("x")
	var err error
	wait := inBackground(func() { _, err = b.trySh("touch started; sleep 300", args{"timeout_seconds": 300}) })
	eventually(s.t, 10*time.Second, "the command runs", func() (bool, any) {
		r, err := b.trySh("ls started")
		return r.ExitCode == 0, err
	})
	b.rollback(snap.ID)
	took(s.t, 5*time.Second, "its end", wait)
	if client.Code(err) != string(schemas.CodeSandboxGone) || !strings.Contains(err.Error(), "rolled_back") {
		s.t.Errorf("the command ended with %v, want sandbox_gone, rolled_back", err)
	}
	if out := b.must("ls"); out != "" {
		s.t.Errorf("the workspace has %q", out)
	}
	if n := processes(b); n != 0 {
		s.t.Errorf("%d processes are left", n)
	}
}

func failedCommands(s *server) {
	b := s.create(args{"memory_mb": 64})
	b.must("echo marker > marker")
	for _, command := range []string{"exit 1", "sleep 9", "tail /dev/zero", "yes | head -c 50000000", "kill -9 $$", "no-such-program"} {
		b.sh(command, args{"timeout_seconds": 3})
		if out := b.must("cat marker"); out != "marker\n" {
			s.t.Errorf("after %s: %q", command, out)
		}
	}
}
