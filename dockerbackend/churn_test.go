package dockerbackend

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// TestChurn: many short lives leave nothing, neither in Docker nor here.
func TestChurn(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Log = nil })
	r.create(spec(busybox)).lifeOfASandbox() // opens what stays open
	files, routines := openFilesNow(t), runtime.NumGoroutine()
	var lives sync.WaitGroup
	for range 3 {
		lives.Go(func() {
			for range 5 {
				r.create(spec(busybox)).lifeOfASandbox()
			}
		})
	}
	lives.Wait()
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= routines+4 })
	if now := openFilesNow(t); now > files+8 { // idle connections to Docker
		t.Errorf("%d open files, before %d", now, files)
	}
	if found, err := r.b.List(r.ctx); err != nil || len(found) > 0 {
		t.Errorf("left: %+v, %v", found, err)
	}
}

func (s *sandbox) lifeOfASandbox() {
	within(s.r.TB, 15*time.Second, "a sandbox's life", func() {
		for range 5 {
			s.run("/bin/echo", "hi")
			s.run("/no/such/program")
		}
		if err := s.r.b.Remove(s.r.ctx, s.ref); err != nil {
			s.r.Errorf("remove: %v", err)
		}
	})
}

func openFilesNow(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		skip.OrFail(t, "no /proc here")
	}
	return len(entries)
}

func TestProbe(t *testing.T) {
	r := newRig(t)
	info, err := r.b.Probe(r.ctx)
	if err != nil || info.Version == "" || info.API == "" || info.Runtime == "" {
		t.Errorf("probe: %+v, %v", info, err)
	}
	odd := r.server(func(c *Config) { c.Runtime = "no-such-runtime" })
	_, err = odd.Probe(r.ctx)
	r.wantKind("probe with an unknown runtime", err, manager.KindBackend)
}
