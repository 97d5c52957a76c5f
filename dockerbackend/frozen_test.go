package dockerbackend

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// wire stands between a Backend and Docker and can stop passing bytes on, as a
// daemon does that is stopped or swaps: it accepts everything and answers nothing.
type wire struct {
	listener net.Listener
	docker   string // address behind it, as DOCKER_HOST has it
	mu       sync.Mutex
	thawed   chan struct{} // closed while bytes pass
}

func newWire(t *testing.T, r *rig) *wire {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "docker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, docker: r.docker.DaemonHost(), thawed: make(chan struct{})}
	close(w.thawed)
	t.Cleanup(func() { l.Close(); w.thaw() })
	go w.serve()
	return w
}

// server makes a Backend that reaches Docker over the wire.
func (w *wire) server(r *rig) *Backend {
	r.Helper()
	api, err := client.NewClientWithOpts(client.WithHost("unix://" + w.listener.Addr().String()))
	if err != nil {
		r.Fatal(err)
	}
	b := newBackend(r.b.cfg, r.b.user, api)
	r.Cleanup(func() { b.Close() })
	return b
}

func (w *wire) freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thawed = make(chan struct{})
}

func (w *wire) thaw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.thawed:
	default:
		close(w.thawed)
	}
}

func (w *wire) serve() {
	for {
		server, err := w.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer server.Close()
			w.wait()
			network, address, _ := strings.Cut(w.docker, "://")
			docker, err := net.Dial(network, address)
			if err != nil {
				return
			}
			defer docker.Close()
			go w.copy(docker, server)
			w.copy(server, docker)
		}()
	}
}

func (w *wire) wait() {
	w.mu.Lock()
	thawed := w.thawed
	w.mu.Unlock()
	<-thawed
}

func (w *wire) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.wait()
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

// TestFrozenDaemon: every call ends by itself, in seconds, and all works again
// when Docker does.
func TestFrozenDaemon(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := newWire(t, r)
	b := w.server(r)
	box := r.create(spec(busybox))
	guest, err := b.Open(r.ctx, box.ref, box.spec, box.image)
	if err != nil {
		t.Fatal(err)
	}
	box.Guest = guest
	box.sh("echo kept > f")
	ref := r.ref()
	w.freeze()
	var calls sync.WaitGroup
	for name, call := range map[string]func() error{
		"probe":   func() error { _, err := b.Probe(r.ctx); return err },
		"prepare": func() error { _, err := b.PrepareImage(r.ctx, busybox); return err },
		"missing": func() error { _, err := b.PrepareImage(r.ctx, "no-such-image:1"); return err },
		"has":     func() error { _, err := b.HasImage(r.ctx, busybox); return err },
		"create":  func() error { _, err := b.Create(r.ctx, ref, box.spec, box.image); return err },
		"open":    func() error { _, err := b.Open(r.ctx, box.ref, box.spec, box.image); return err },
		"inspect": func() error { _, err := b.Inspect(r.ctx, box.ref); return err },
		"list":    func() error { _, err := b.List(r.ctx); return err },
		"remove":  func() error { return b.Remove(r.ctx, ref) },
		"exec":    func() error { _, _, err := box.try(r.ctx, "/bin/sleep", "100"); return err },
	} {
		calls.Go(func() {
			within(t, 18*time.Second, name, func() { r.wantKind(name, call(), manager.KindUnavailable) })
		})
	}
	calls.Wait()
	w.thaw()
	if guest, err = b.Open(r.ctx, box.ref, box.spec, box.image); err != nil {
		t.Fatalf("open again: %v", err)
	}
	box.Guest = guest
	if got := box.sh("cat f"); got != "kept\n" {
		t.Errorf("got %q", got)
	}
	if err := b.Remove(r.ctx, ref); err != nil {
		t.Errorf("remove what was cut off: %v", err)
	}
	if left := r.volumes(); len(left) != 1 {
		t.Errorf("volumes: %v", left)
	}
}

// TestFrozenBeforeTheFirstCall: agreeing on an API version must not make calls
// wait for each other.
func TestFrozenBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := newWire(t, r)
	w.freeze()
	b := w.server(r)
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			within(t, 10*time.Second, "list", func() {
				_, err := b.List(r.ctx)
				r.wantKind("list", err, manager.KindUnavailable)
			})
		})
	}
	calls.Wait()
	w.thaw()
	if _, err := b.List(r.ctx); err != nil {
		t.Errorf("list: %v", err)
	}
}
