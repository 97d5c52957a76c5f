package dockerbackend

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// wire stands between a Backend and Docker and can stop passing bytes on, as a
// daemon does that is stopped or swaps: it accepts everything and answers nothing.
type wire struct {
	listener net.Listener
	mu       sync.Mutex
	thawed   chan struct{} // closed while bytes pass
}

func newWire(t *testing.T) *wire {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "docker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, thawed: make(chan struct{})}
	close(w.thawed)
	t.Cleanup(func() { l.Close(); w.thaw() })
	go w.serve()
	return w
}

func (w *wire) host() string { return "unix://" + w.listener.Addr().String() }

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
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			w.wait()
			docker, err := net.Dial("unix", "/var/run/docker.sock")
			if err != nil {
				return
			}
			defer docker.Close()
			go func() { w.copy(docker, client); docker.(*net.UnixConn).CloseWrite() }()
			w.copy(client, docker)
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
	r := newRig(t)
	w := newWire(t)
	t.Setenv("DOCKER_HOST", w.host())
	b := r.server()
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
	r := newRig(t)
	w := newWire(t)
	w.freeze()
	t.Setenv("DOCKER_HOST", w.host())
	b := r.server()
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
