package e2e

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// daemon stands between a server and Docker, and can go away or freeze, as a
// daemon does that is restarted or stuck.
type daemon struct {
	t    *testing.T
	path string

	mu     sync.Mutex
	listen net.Listener
	conns  map[net.Conn]bool
	frozen chan struct{} // closed while bytes flow
}

func newDaemon(t *testing.T) *daemon {
	d := &daemon{t: t, path: filepath.Join(t.TempDir(), "docker.sock"), conns: map[net.Conn]bool{}, frozen: make(chan struct{})}
	close(d.frozen)
	d.up()
	t.Cleanup(d.down)
	return d
}

func dockerSocket() string {
	if socket, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		return socket
	}
	return "/var/run/docker.sock"
}

func (d *daemon) up() {
	l, err := net.Listen("unix", d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	d.listen = l
	d.mu.Unlock()
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go d.pass(in)
		}
	}()
}

// down closes the socket and every connection.
func (d *daemon) down() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listen.Close()
	for c := range d.conns {
		c.Close()
	}
	clear(d.conns)
}

func (d *daemon) freeze() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frozen = make(chan struct{})
}

func (d *daemon) thaw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.frozen)
}

func (d *daemon) pass(in net.Conn) {
	out, err := net.Dial("unix", dockerSocket())
	if err != nil {
		in.Close()
		return
	}
	d.mu.Lock()
	d.conns[in], d.conns[out] = true, true
	d.mu.Unlock()
	go d.copy(out, in)
	d.copy(in, out)
}

func (d *daemon) copy(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		d.mu.Lock()
		frozen := d.frozen
		d.mu.Unlock()
		<-frozen
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	} else {
		to.(io.Closer).Close()
	}
}

// behind starts a server that reaches Docker through d.
func behind(t *testing.T, d *daemon) *server {
	t.Helper()
	s := quiet(t)
	o := s.launch()
	o.Env = append(o.Env, "DOCKER_HOST=unix://"+d.path)
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
	d := newDaemon(t)
	s := behind(t, d)
	b := s.create()
	b.must("echo kept > f")
	var err error
	wait := inBackground(func() { _, err = b.trySh("sleep 60") })
	d.down()
	took(t, 15*time.Second, "the end of the command under way", wait)
	if c := client.Code(err); err == nil || c == "" || c == string(schemas.CodeInternal) {
		t.Errorf("the command ended with %v", err)
	}
	took(t, 15*time.Second, "exec without Docker", func() {
		s.refuse("exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeBackendUnavailable)
	})
	os.Remove(d.path)
	d.up()
	eventually(t, 20*time.Second, "it works again by itself", func() (bool, any) {
		r, err := b.trySh("cat f")
		return r.Stdout == "kept\n", err
	})
	s.create().alive()
}

func daemonFreezes(t *testing.T) {
	d := newDaemon(t)
	s := behind(t, d)
	b := s.create()
	b.must("echo kept > f")
	d.freeze()
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
	d.thaw()
	eventually(t, 30*time.Second, "it works again by itself", func() (bool, any) {
		r, err := b.trySh("cat f")
		return r.Stdout == "kept\n", err
	})
	s.create().alive()
	orphaned(s)
}
