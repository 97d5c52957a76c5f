package e2e

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// gone waits until there is nothing of a server's sandboxes in Docker.
func gone(s *server, limit time.Duration) {
	s.t.Helper()
	eventually(s.t, limit, "all sandboxes are gone with containers and volumes", func() (bool, any) {
		c, v, l := s.containers(), s.volumes(), s.list()
		return len(c)+len(v)+len(l) == 0, []any{c, v, l}
	})
}

// expiry: a sandbox goes when its time has come, used, unused, stopped, or
// with no server there; renewing counts from now.
func expiry(s *server) {
	ttl := args{"timeout_seconds": 4}
	unused, used, stopped, renewed := s.create(ttl), s.create(ttl), s.create(ttl), s.create(ttl)
	snap := used.snapshot("stays")
	mustDocker(s.t, "kill", s.containerOf(string(stopped.ID)))
	used.must("sleep 1000 >/dev/null 2>&1 &")
	call[schemas.Sandbox](s, "sandbox_set_timeout", args{"sandbox_id": renewed.ID, "timeout_seconds": 60})
	eventually(s.t, 12*time.Second, "three of four are gone", func() (bool, any) {
		l := s.list() // polling extends nothing
		return len(l) == 1 && l[0].ID == renewed.ID, l
	})
	for _, b := range []*sandbox{unused, used, stopped} {
		s.refuse("exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeNotFound)
	}
	orphaned(s)
	f := s.fork(snap.ID, args{"timeout_seconds": 5})
	s.Kill()
	eventually(s.t, 15*time.Second, "it stops itself without a server", func() (bool, any) {
		state, _ := docker("inspect", "-f", "{{.State.Running}}", s.containerOf(string(f.ID)))
		return state == "false", state
	})
	s.up()
	check(s.t, s.destroy(renewed.ID))
	gone(s, 10*time.Second)
	oddTTLs(s)
}

func oddTTLs(s *server) {
	for _, bad := range []any{0, -1, 1e12, "1h", 1.5, true} {
		s.refuse("sandbox_create", args{"timeout_seconds": bad}, schemas.CodeInvalidRequest)
	}
	b := s.create()
	if left := b.ExpiresAt.Sub(b.CreatedAt); left != 900*time.Second {
		s.t.Errorf("by default it lives %v", left)
	}
	s.refuse("sandbox_set_timeout", args{"sandbox_id": b.ID, "timeout_seconds": 86401}, schemas.CodeInvalidRequest)
}

// expiryUnderCommand: a call at the edge ends properly or says why not.
func expiryUnderCommand(s *server) {
	b := s.create(args{"timeout_seconds": 3})
	var err error
	wait := inBackground(func() { _, err = b.trySh("sleep 60", args{"timeout_seconds": 60}) })
	var edge sync.WaitGroup
	for i := range count(20, 50) {
		edge.Go(func() {
			time.Sleep(2500*time.Millisecond + time.Duration(i)*50*time.Millisecond) // the calls are spread over the edge
			r, err := b.trySh("true")
			if c := client.Code(err); err == nil && r.ExitCode != 0 || err != nil && c != "not_found" && c != "sandbox_gone" {
				s.t.Errorf("a call at the edge: %+v, %v", r, err)
			}
		})
	}
	edge.Wait()
	wait()
	if client.Code(err) != string(schemas.CodeSandboxGone) || !strings.Contains(err.Error(), "expired") {
		s.t.Errorf("the command ended with %v, want sandbox_gone, expired", err)
	}
	gone(s, 10*time.Second)
}

// noDocker: the server is up at once, says what is wrong, and recovers by itself.
func noDocker(t *testing.T) {
	s := quiet(t)
	began := time.Now()
	c, err := client.Start(ctx(t), client.Options{Binary: s.launch().Binary, Args: s.args, Env: []string{"DOCKER_HOST=unix://" + s.dir + "/none.sock"}})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the start took %v", took)
	}
	s.Client = c
	s.list()
	took(t, 10*time.Second, "create without Docker", func() {
		s.refuse("sandbox_create", args{}, schemas.CodeBackendUnavailable)
	})
	if left := s.list(); len(left) != 0 {
		t.Errorf("listed: %+v", left)
	}
	s.Kill()
	s.up()
	s.create().alive()
}
