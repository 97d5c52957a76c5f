package manager_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// crowd is a server with many sandboxes and as many snapshots, of which one
// sandbox has a container.
type crowd struct {
	*server
	used schemas.SandboxID
}

// crowdOf copies the records of a sandbox and a snapshot, and starts a server on
// them.
func crowdOf(t testing.TB, n int) *crowd {
	t.Helper()
	s := start(t, func(c *manager.Config) { c.ReapInterval, c.MaxSandboxes = time.Hour, n+1 })
	id := s.create().ID
	s.mustSh(id, "echo x > f")
	snap, err := s.Snapshot(t.Context(), owner, id, schemas.SnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	multiply(t, filepath.Join(s.cfg.DataDir, "sandboxes"), string(id), "sb_", n-1)
	multiply(t, filepath.Join(s.cfg.DataDir, "snapshots"), string(snap.ID), "snap_", n-1)
	c := &crowd{restart(t, s), id}
	eventually(t, "the start is over", func() bool { return c.fake.Calls(backendtest.OpList) > 0 })
	c.mustSh(id, "true")
	return c
}

// multiply makes n copies of the files of one ID, with other IDs in them.
func multiply(t testing.TB, dir, id, prefix string, n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, id+".*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", id, files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		for i := range n {
			other := fmt.Sprintf("%s%016x", prefix, i)
			if err == nil {
				err = os.WriteFile(strings.ReplaceAll(file, id, other), []byte(strings.ReplaceAll(string(text), id, other)), 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// growing is what must not cost more than its work, however much there is.
var growing = []struct {
	name string
	each bool // the work is one for each record; else it is the same always
	do   func(c *crowd) error
}{
	{"exec", false, func(c *crowd) error { _, err := c.sh(c.used, "true"); return err }},
	{"get", false, func(c *crowd) error { _, err := c.Get(c.t.Context(), owner, c.used); return err }},
	{"list", true, func(c *crowd) error { _, err := c.List(c.t.Context(), owner, schemas.Page{}); return err }},
	{"snapshot list", true, func(c *crowd) error {
		_, err := c.ListSnapshots(c.t.Context(), owner, "", schemas.Page{})
		return err
	}},
	{"reap", true, func(c *crowd) error { c.Tend(); return nil }},
	{"restart", true, func(c *crowd) error {
		c.Close()
		m, err := manager.New(c.cfg, c.fake)
		if err == nil {
			c.Manager = m
			c.t.Cleanup(func() { m.Close() })
		}
		return err
	}},
}

// TestGrowth counts what is allocated, which time on a busy machine says nothing
// of: nothing that is made anew for each comparison, or each pair, goes unseen.
func TestGrowth(t *testing.T) {
	const few, many = 100, 1000
	small, large := crowdOf(t, few), crowdOf(t, many)
	for _, op := range growing {
		per := func(c *crowd, records int) float64 {
			best := 1e18
			for range 5 { // of which one has nothing else beside it
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if err := op.do(c); err != nil {
					t.Fatalf("%s: %v", op.name, err)
				}
				runtime.ReadMemStats(&after)
				best = min(best, float64(after.Mallocs-before.Mallocs))
			}
			if op.each {
				best /= float64(records)
			}
			return best
		}
		a, b := per(small, few), per(large, many)
		t.Logf("%s: %.1f allocations with %d records, %.1f with %d", op.name, a, few, b, many)
		most := 1.5*a + 50 // of one call: 900 records more would show
		if op.each {
			most = 1.2*a + 1 // noise is spread over the records
		}
		if b > most {
			t.Errorf("%s grows: %.1f allocations with %d records, %.1f with %d", op.name, a, few, b, many)
		}
	}
	calls := large.fake.Calls(backendtest.OpInspect)
	if err := large.startAgain(); err != nil {
		t.Fatal(err)
	}
	large.Tend()
	if n := large.fake.Calls(backendtest.OpInspect) - calls; n != many {
		t.Errorf("a sweep over %d sandboxes asks the backend %d times", many, n)
	}
}

func (c *crowd) startAgain() error { return growing[len(growing)-1].do(c) }

// BenchmarkGrowth is how long each takes: docs/performance.md has the figures.
func BenchmarkGrowth(b *testing.B) {
	for _, records := range []int{1, 100, 1000, 10_000} {
		c := crowdOf(b, records)
		for _, op := range growing {
			b.Run(fmt.Sprintf("%s/%d", op.name, records), func(b *testing.B) {
				for b.Loop() {
					if err := op.do(c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
