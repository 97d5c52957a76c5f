package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/faultproxy"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// dockerHost is the daemon of these tests, as DOCKER_HOST has it.
func dockerHost() string {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return host
	}
	return "unix:///var/run/docker.sock"
}

// behind starts a server that reaches Docker through a proxy.
func behind(t *testing.T, d *faultproxy.Proxy) *server {
	t.Helper()
	s := quiet(t)
	o := s.launch()
	o.Env = append(o.Env, "DOCKER_HOST="+d.Host())
	c, err := client.Start(ctx(t), o)
	if err != nil {
		t.Fatal(err)
	}
	s.Client = c
	return s
}

// TestDaemon: Docker goes away, comes back, and freezes.
func TestDaemon(t *testing.T) {
	t.Parallel()
	t.Run("J6 the daemon is restarted", daemonRestarts)
	t.Run("J8 the daemon is stuck", daemonFreezes)
}

func daemonRestarts(t *testing.T) {
	d := faultproxy.Start(t, dockerHost())
	s := behind(t, d)
	b := s.create()
	b.must("echo kept > f")
	var err error
	wait := inBackground(func() { _, err = b.trySh("sleep 60") })
	d.Down()
	took(t, 15*time.Second, "the end of the command under way", wait)
	if c := client.Code(err); err == nil || c == "" || c == string(schemas.CodeInternal) {
		t.Errorf("the command ended with %v", err)
	}
	took(t, 15*time.Second, "exec without Docker", func() {
		s.refuse("exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeBackendUnavailable)
	})
	check(t, d.Up())
	eventually(t, 20*time.Second, "it works again by itself", func() (bool, any) {
		r, err := b.trySh("cat f")
		return r.Stdout == "kept\n", err
	})
	s.create().alive()
}

func daemonFreezes(t *testing.T) {
	d := faultproxy.Start(t, dockerHost())
	s := behind(t, d)
	b := s.create()
	b.must("echo kept > f")
	d.Freeze()
	for tool, a := range map[string]args{
		"exec":           {"sandbox_id": b.ID, "command": "true", "timeout_seconds": 5},
		"sandbox_create": {},
		"snapshot":       {"sandbox_id": b.ID},
	} {
		took(t, 75*time.Second, tool+" on a frozen daemon", func() {
			s.refuse(tool, a, schemas.CodeBackendUnavailable, schemas.CodeBackendError)
		})
	}
	took(t, 5*time.Second, "lists on a frozen daemon", func() {
		s.list()
		s.answers()
	})
	d.Thaw()
	eventually(t, 30*time.Second, "it works again by itself", func() (bool, any) {
		r, err := b.trySh("cat f")
		return r.Stdout == "kept\n", err
	})
	s.create().alive()
	orphaned(s)
}
