package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestLife is the part of the cases about the life of sandboxes that needs a
// server of its own, through both doors.
func TestLife(t *testing.T) {
	t.Parallel()
	for _, door := range []client.Door{client.Stdio, client.REST} {
		t.Run(string(door), func(t *testing.T) {
			t.Parallel()
			s := startAt(t, door, "--reap-interval-seconds=1", "--max-sandboxes=100")
			alone(t, s, []testCase[*server]{
				{"H4 one slow call holds up nobody else", slowNeighbour},
				{"H5 a name is only a label", sameNames},
				{"H13 M3 errors can be told apart, and show nothing of the host", distinctErrors},
				{"I1 renewing at the edge", renewAtTheEdge},
				{"I6 expiry during rollback and fork", expiryDuringWork},
				{"I11 I12 a create that fails late", failsLate},
				{"I13 no bridge port without a network", noBridgePort},
				{"L6 a disk limit is refused", noDiskLimit},
			})
		})
	}
}

// slowNeighbour: while one sandbox is busy with a large snapshot and a rollback,
// and another is destroyed with a command in it, a third one answers.
func slowNeighbour(s *server) {
	busy, doomed, other := s.create(), s.create(), s.create()
	busy.must(fmt.Sprintf("mkdir t && cd t && seq %d | xargs touch && head -c %d /dev/urandom > big", count(2000, 50_000), count(20_000_000, 900_000_000)))
	var ended atomic.Bool
	work := inBackground(func() {
		defer ended.Store(true)
		snap, err := try[schemas.Snapshot](s, "snapshot", args{"sandbox_id": busy.ID})
		if err == nil {
			_, err = try[schemas.Sandbox](s, "rollback", args{"sandbox_id": busy.ID, "snapshot_id": snap.ID})
		}
		if err != nil {
			s.t.Errorf("the slow work: %v", err)
		}
	})
	call := inBackground(func() { doomed.trySh(`trap "" TERM; sleep 100`) })
	check(s.t, s.Call(ctx(s.t), "sandbox_destroy", args{"sandbox_id": doomed.ID}, nil))
	for n := 0; !ended.Load() || n < 3; n++ {
		other.alive()
		s.get(other.ID)
	}
	work()
	call()
}

func sameNames(s *server) {
	for range count(3, 50) {
		old := s.create(args{"name": "mine"})
		done := inBackground(func() { s.Call(ctx(s.t), "sandbox_destroy", args{"sandbox_id": old.ID}, nil) })
		s.create(args{"name": "mine"}).alive()
		done()
	}
	for _, b := range s.list() {
		if b.Name != "mine" {
			s.t.Errorf("%+v", b)
		}
		(&sandbox{s, b}).alive()
	}
	s.refuse("exec", args{"sandbox_id": "mine", "command": "true"}, schemas.CodeInvalidRequest, schemas.CodeNotFound)
}

// distinctErrors: what a client does next depends on it.
func distinctErrors(s *server) {
	b := s.create()
	wait := inBackground(func() {
		s.refuse("exec", args{"sandbox_id": b.ID, "command": "touch /tmp/begun; sleep 100"}, schemas.CodeSandboxGone)
	})
	eventually(s.t, 20*time.Second, "it runs", func() (bool, any) {
		r, err := b.trySh("ls /tmp/begun")
		return err == nil && r.ExitCode == 0, err
	})
	check(s.t, s.destroy(b.ID))
	wait()
	unknown := "sb_0123456789abcdef"
	for _, test := range []struct {
		what string
		tool string
		a    args
		code schemas.Code
	}{
		{"destroyed", "exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeNotFound},
		{"never there", "exec", args{"sandbox_id": unknown, "command": "true"}, schemas.CodeNotFound},
		{"bad input", "sandbox_create", args{"memory_mb": -1}, schemas.CodeInvalidRequest},
		{"no such image", "sandbox_create", args{"image": "mcp-sandbox/none:such"}, schemas.CodeInvalidRequest},
	} {
		err := s.refuse(test.tool, test.a, test.code)
		if err != nil && retryable(err) {
			s.t.Errorf("%s is called retryable: %v", test.what, err)
		}
		s.discreet(err)
	}
	lost := s.create()
	container, volume := s.containerOf(string(lost.ID)), s.volumeOf(string(lost.ID))
	mustDocker(s.t, "rm", "-f", container)
	mustDocker(s.t, "volume", "rm", "-f", volume)
	s.discreet(s.refuse("exec", args{"sandbox_id": lost.ID, "command": "true"}, schemas.CodeConflict))
}

// discreet checks that an error has nothing of the host's.
func (s *server) discreet(err error) {
	s.t.Helper()
	for _, trace := range []string{s.dir, s.instance, "docker.sock", "/var/lib", "daemon", "agent-sandbox-", "goroutine ", ".go:"} {
		if strings.Contains(fmt.Sprint(err), trace) {
			s.t.Errorf("an error has %q in it: %v", trace, err)
		}
	}
}

func retryable(err error) bool {
	return strings.Contains(err.Error(), "The same call may succeed later")
}

// renewAtTheEdge: a renewal that meets the expiry is one or the other.
func renewAtTheEdge(s *server) {
	n := count(8, 100)
	repeat(s.t, n, 4, func(i int) error {
		b, err := try[schemas.Sandbox](s, "sandbox_create", args{"timeout_seconds": 3})
		if err != nil {
			return err
		}
		time.Sleep(time.Until(b.ExpiresAt.Add(time.Duration(i*200/n-100) * time.Millisecond)))
		renewed, err := try[schemas.Sandbox](s, "sandbox_set_timeout", args{"sandbox_id": b.ID, "timeout_seconds": 3})
		switch code := schemas.Code(client.Code(err)); {
		case err == nil && !renewed.ExpiresAt.After(b.ExpiresAt):
			return fmt.Errorf("renewed from %v to %v", b.ExpiresAt, renewed.ExpiresAt)
		case err != nil && code != schemas.CodeNotFound && code != schemas.CodeSandboxGone:
			return fmt.Errorf("renew: %w", err)
		}
		return nil
	})
	gone(s, 20*time.Second)
}

// expiryDuringWork: a rollback or a fork of what expires meanwhile is done or
// refused, and a fork lives as long as any other sandbox.
func expiryDuringWork(s *server) {
	source := s.create()
	source.must("seq 300 | xargs touch")
	snap := source.snapshot("before")
	for i := range count(4, 20) {
		b := s.create(args{"timeout_seconds": 2})
		time.Sleep(time.Until(b.ExpiresAt.Add(time.Duration(-500+100*i) * time.Millisecond)))
		if i%2 == 0 {
			if _, err := try[schemas.Sandbox](s, "rollback", args{"sandbox_id": b.ID, "snapshot_id": snap.ID}); err != nil {
				s.t.Logf("rollback %d: %v", i, err)
				if code := schemas.Code(client.Code(err)); code != schemas.CodeNotFound && code != schemas.CodeSandboxGone {
					s.t.Errorf("rollback: %v", err)
				}
			}
		} else {
			f := s.fork(snap.ID)
			if left := time.Until(f.ExpiresAt); left < 5*time.Minute {
				s.t.Errorf("the fork has %v left", left)
			}
			f.alive()
			check(s.t, s.destroy(f.ID))
		}
	}
	source.alive()
	eventually(s.t, 20*time.Second, "only the source is left", func() (bool, any) {
		c, v, l := s.containers(), s.volumes(), s.list()
		return len(c) == 1 && len(v) == 1 && len(l) == 1, []any{c, v, l}
	})
}

// failsLate: what fails fails alike each time, and leaves nothing.
func failsLate(s *server) {
	var first string
	for range count(3, 20) {
		err := s.refuse("sandbox_create", args{"image": "mcp-sandbox/none:such", "name": "again"}, schemas.CodeInvalidRequest)
		if first == "" && err != nil {
			first = err.Error()
		}
		if err != nil && err.Error() != first {
			s.t.Errorf("at first %q, then %q", first, err)
		}
		s.refuse("sandbox_create", args{"memory_mb": 1, "name": "again"}, schemas.CodeInvalidRequest)
	}
	if c, v := s.containers(), s.volumes(); len(c)+len(v) > 0 {
		s.t.Errorf("left are %v and %v", c, v)
	}
	b := s.create()
	mustDocker(s.t, "kill", s.containerOf(string(b.ID)))
	s.create(args{"name": "again"}).alive()
}

func noBridgePort(s *server) {
	for range count(3, 100) {
		b := s.create()
		if mode := strings.TrimSpace(mustDocker(s.t, "inspect", "-f", "{{.HostConfig.NetworkMode}} {{range .NetworkSettings.Networks}}[{{.EndpointID}}{{.Gateway}}]{{end}}", s.containerOf(string(b.ID)))); !strings.HasPrefix(mode, "none ") {
			s.t.Errorf("its network is %s", mode)
		}
		check(s.t, s.destroy(b.ID))
	}
	gone(s, 10*time.Second)
}

func noDiskLimit(s *server) {
	for _, field := range []string{"disk", "disk_mb", "storage_opt"} {
		err := s.refuse("sandbox_create", args{field: 200}, schemas.CodeInvalidRequest)
		if err != nil && !strings.Contains(err.Error(), field) {
			s.t.Errorf("%s: %v", field, err)
		}
	}
}
