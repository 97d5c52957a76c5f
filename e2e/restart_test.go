package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestRestart: the server dies, its sandboxes do not.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := start(t, "--reap-interval-seconds=1")
	alone(t, s, []testCase[*server]{
		{"J11 killed during a command", killedDuringCommand},
		{"J4 container removed meanwhile", containerRemoved},
		{"J5 container stopped from outside", containerStopped},
		{"H12 container and volume removed", volumeRemoved},
		{"J2 record lost", recordLost},
		{"J2 record that cannot be read", recordCorrupt},
		{"I8 what is not ours is not touched", foreignUntouched},
		{"I3 I15 expiry", expiry},
		{"I5 expiry under a command", expiryUnderCommand},
	})
	t.Run("J3 J7 no Docker", noDocker)
	t.Run("a data directory that is held", held)
}

func killedDuringCommand(s *server) {
	b := s.create(args{"name": "survivor", "env": map[string]string{"KEPT": "yes"}})
	b.must("echo kept > f; sleep 1000 >/dev/null 2>&1 &")
	snap := b.snapshot("x")
	started := inBackground(func() { b.trySh(tick, args{"timeout_seconds": 600}) })
	eventually(s.t, 10*time.Second, "the command runs", func() (bool, any) {
		r, err := b.trySh("test -s tick")
		return r.ExitCode == 0, err
	})
	s.restart()
	started()
	eventually(s.t, 5*time.Second, "it is listed as it was", func() (bool, any) {
		list := s.list()
		return len(list) == 1 && list[0].ID == b.ID && list[0].Name == "survivor" && list[0].Status == schemas.StatusRunning && list[0].ExpiresAt.Equal(b.ExpiresAt), list
	})
	if out := b.must("cat f; echo $KEPT"); out != "kept\nyes\n" {
		s.t.Errorf("got %q", out)
	}
	// The interrupted command is gone, what was left in the background goes on.
	eventually(s.t, 5*time.Second, "only the background child is left", func() (bool, any) {
		n := processes(b)
		return n == 1, b.must("ps")
	})
	b.rollback(snap.ID)
	if out := b.must("cat f"); out != "kept\n" {
		s.t.Errorf("after the rollback: %q", out)
	}
}

func containerRemoved(s *server) {
	for _, restart := range []bool{false, true} {
		b := s.create()
		b.must("echo kept > f")
		mustDocker(s.t, "rm", "-f", s.containerOf(string(b.ID)))
		if restart {
			s.restart()
		}
		if out := b.must("cat f"); out != "kept\n" {
			s.t.Errorf("restart %t: got %q", restart, out)
		}
		check(s.t, s.destroy(b.ID))
	}
}

func containerStopped(s *server) {
	b := s.create()
	b.must("echo kept > f; echo lost > /tmp/f")
	for _, command := range []string{"kill", "stop"} {
		mustDocker(s.t, command, s.containerOf(string(b.ID)))
		eventually(s.t, 5*time.Second, "its status is true", func() (bool, any) {
			status := s.get(b.ID).Status
			return status == schemas.StatusStopped, status
		})
		if out := b.must("cat f; ls /tmp"); out != "kept\n" {
			s.t.Errorf("after docker %s: got %q", command, out)
		}
		if status := s.get(b.ID).Status; status != schemas.StatusRunning {
			s.t.Errorf("after it was used: %s", status)
		}
	}
	container := s.containerOf(string(b.ID))
	mustDocker(s.t, "pause", container)
	took(s.t, 8*time.Second, "exec in a frozen container", func() {
		if r, err := b.trySh("true"); err != nil && client.Code(err) == string(schemas.CodeInternal) || err == nil && r.ExitCode != 0 {
			s.t.Errorf("got %+v, %v", r, err)
		}
	})
	took(s.t, 8*time.Second, "destroy of a frozen container", func() { check(s.t, s.destroy(b.ID)) })
}

func volumeRemoved(s *server) {
	b := s.create()
	b.must("echo kept > f")
	snap := b.snapshot("x")
	volume := s.volumeOf(string(b.ID))
	mustDocker(s.t, "rm", "-f", s.containerOf(string(b.ID)))
	mustDocker(s.t, "volume", "rm", volume)
	err := s.refuse("exec", args{"sandbox_id": b.ID, "command": "ls"}, schemas.CodeConflict)
	if err != nil && !strings.Contains(strings.ToLower(err.Error()), "roll") {
		s.t.Errorf("the message does not tell the way back: %v", err)
	}
	if status := s.get(b.ID).Status; status != schemas.StatusFailed {
		s.t.Errorf("its status is %s", status)
	}
	b.rollback(snap.ID)
	if out := b.must("cat f"); out != "kept\n" {
		s.t.Errorf("after the rollback: %q", out)
	}
	volume = s.volumeOf(string(b.ID))
	mustDocker(s.t, "rm", "-f", s.containerOf(string(b.ID)))
	mustDocker(s.t, "volume", "rm", volume)
}

// record is a sandbox's record in the data directory.
func (b *sandbox) record() string {
	b.t.Helper()
	path := filepath.Join(b.dir, "sandboxes", string(b.ID)+".json")
	if _, err := os.Stat(path); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// orphaned checks that Docker has nothing of a server but what it lists.
func orphaned(s *server) {
	s.t.Helper()
	eventually(s.t, 15*time.Second, "nothing is in Docker but what is listed", func() (bool, any) {
		c, v, l := s.containers(), s.volumes(), s.list()
		return len(c) == len(l) && len(v) == len(l), []any{c, v, l}
	})
}

func recordLost(s *server) {
	b, other := s.create(), s.create()
	path := b.record()
	s.Kill()
	check(s.t, os.Remove(path))
	s.up()
	orphaned(s)
	s.refuse("exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeNotFound)
	other.alive()
}

func recordCorrupt(s *server) {
	b, other := s.create(), s.create()
	path := b.record()
	s.Kill()
	check(s.t, os.WriteFile(path, []byte(`{"id":`), 0o600))
	s.up()
	orphaned(s)
	if found, _ := filepath.Glob(path + "*.corrupt"); len(found) != 1 {
		s.t.Errorf("the record was not set aside: %v", found)
	}
	other.alive()
}

func foreignUntouched(s *server) {
	b := s.create()
	name := strings.TrimPrefix(mustDocker(s.t, "inspect", "-f", "{{.Name}}", s.containerOf(string(b.ID))), "/")
	foreign := name + "-foreign"
	for _, make := range [][]string{
		{"create", "--name", foreign, busybox, "true"},
		{"create", "--name", foreign + "-2", "--label", "io.agent-sandbox.managed=false", busybox, "true"},
		{"create", "--name", foreign + "-3", "--label", "io.agent-sandbox.managed=true", "--label", "io.agent-sandbox.instance=another", busybox, "true"},
		{"volume", "create", foreign},
	} {
		mustDocker(s.t, make...)
	}
	s.t.Cleanup(func() {
		docker("rm", "-f", foreign, foreign+"-2", foreign+"-3")
		docker("volume", "rm", foreign)
	})
	s.restart()
	b.alive()
	check(s.t, s.destroy(b.ID))
	orphaned(s)
	mustDocker(s.t, "inspect", foreign, foreign+"-2", foreign+"-3")
	mustDocker(s.t, "volume", "inspect", foreign)
}

func held(t *testing.T) {
	s := start(t)
	second := s.launch()
	second.Door, second.Env = client.REST, []string{"AGENT_SANDBOX_API_KEYS=" + aliceKey}
	p, err := client.Launch(second)
	if err != nil {
		t.Fatal(err)
	}
	code, err := p.ExitCode(5 * time.Second)
	said := p.Log()
	if code != 3 || err != nil || !strings.Contains(said, itoa(s.Pid())) || !strings.Contains(said, s.dir) || strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d, %v, %q", code, err, said)
	}
}
