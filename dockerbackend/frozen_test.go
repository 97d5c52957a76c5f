package dockerbackend

import (
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/faultproxy"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// TestFrozenDaemon: every call ends by itself, in seconds, and all works again
// when Docker does.
func TestFrozenDaemon(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := faultproxy.Start(t, r.docker.DaemonHost())
	b := r.behind(p)
	box := r.create(spec(busybox))
	box.Close() // one server at a time is attached to a container
	guest, err := b.Open(r.ctx, box.ref, box.spec, box.image)
	if err != nil {
		t.Fatal(err)
	}
	box.Guest = guest
	box.sh("echo kept > f")
	ref := r.ref()
	p.Freeze()
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
	p.Thaw()
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
	p := faultproxy.Start(t, r.docker.DaemonHost())
	p.Freeze()
	b := r.behind(p)
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
	p.Thaw()
	if _, err := b.List(r.ctx); err != nil {
		t.Errorf("list: %v", err)
	}
}
