package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

const poolOfTwo = "--warm-pool=2"

// spares are the containers that wait for use, in whatever state, by ID.
func (s *server) spares(filters ...string) []string {
	s.t.Helper()
	query := []string{"ps", "-aq", "--no-trunc", "--filter", "name=agent-sandbox-spare-"}
	for _, f := range filters {
		query = append(query, "--filter", f)
	}
	return s.found(query...)
}

// awaitSpares waits until so many run, and no others are there.
func (s *server) awaitSpares(n int) (ids []string) {
	s.t.Helper()
	eventually(s.t, time.Minute, "spares run", func() (bool, any) {
		ids = s.spares("status=running")
		return len(ids) == n && len(s.spares()) == n, ids
	})
	return ids
}

// A sandbox out of the pool is as good as one that was made: one of the spares
// under its own name, with the limits asked for, also when the server was killed.
func TestPool(t *testing.T) {
	for _, door := range []client.Door{client.Stdio, client.REST} {
		t.Run(string(door), func(t *testing.T) {
			t.Parallel()
			s := startAt(t, door, poolOfTwo)
			before := s.awaitSpares(2)
			b := s.create(args{"memory_mb": 640, "cpus": 0.5, "env": args{"COLOUR": "red"}})
			if id := mustDocker(t, "inspect", "-f", "{{.Id}}", s.containerOf(string(b.ID))); !slices.Contains(before, id) {
				t.Errorf("%s is none of the spares %q", id, before)
			}
			pooled := s.inspect(string(b.ID))
			s.awaitSpares(2)

			made := s.create(args{"memory_mb": 640, "cpus": 0.5, "image": busybox + ":latest"})
			fresh := s.inspect(string(made.ID))
			pooled.Mounts[0].Name, fresh.Mounts[0].Name = "", ""
			for _, c := range []*inspection{&pooled, &fresh} {
				delete(c.Config.Labels, "io.agent-sandbox.creation")
			}
			if got, want := fmt.Sprintf("%+v %d", pooled, *pooled.HostConfig.PidsLimit), fmt.Sprintf("%+v %d", fresh, *fresh.HostConfig.PidsLimit); strip(got) != strip(want) {
				t.Errorf("out of the pool: %s\nmade for it:     %s", got, want)
			}

			b.must("echo $COLOUR > f")
			s.restart()
			if got := b.must("cat f"); got != "red\n" {
				t.Errorf("after a crash the file has %q", got)
			}
			for _, id := range s.awaitSpares(2) {
				if slices.Contains(before, id) {
					t.Errorf("%s was made by a server that is gone", id)
				}
			}
		})
	}
}

// strip takes out addresses, which pointers print as.
func strip(s string) string {
	fields := strings.Fields(s)
	return strings.Join(slices.DeleteFunc(fields, func(f string) bool { return strings.Contains(f, "0x") }), " ")
}

// Rolled back and forked out of the pool, files are the snapshot's.
func TestPoolForkAndRollback(t *testing.T) {
	t.Parallel()
	s := start(t, poolOfTwo)
	b := s.create()
	b.must("echo saved > f")
	snap := b.snapshot("x")
	b.must("echo spoilt > f; touch /tmp/left")
	spares := s.awaitSpares(2)
	b.rollback(snap.ID)
	eventually(t, time.Minute, "only the new container is left, and was a spare", func() (bool, any) {
		ids := s.found("ps", "-aq", "--no-trunc", "--filter", "name="+string(b.ID))
		return len(ids) == 1 && slices.Contains(spares, ids[0]), ids
	})
	if got := b.must("cat f; ls /tmp"); got != "saved\n" {
		t.Errorf("after the rollback: %q", got)
	}
	s.awaitSpares(2)
	if got := s.fork(snap.ID).must("cat f"); got != "saved\n" {
		t.Errorf("fork: %q", got)
	}
	b.alive()
}

// Twenty at once, of which the pool has two: each is a sandbox of its own.
func TestPoolBurst(t *testing.T) {
	s := start(t, poolOfTwo)
	s.awaitSpares(2)
	boxes := make([]*sandbox, 20)
	var wg sync.WaitGroup
	for i := range boxes {
		wg.Go(func() {
			boxes[i] = s.create()
			boxes[i].must(fmt.Sprintf("echo %d > f", i))
		})
	}
	wg.Wait()
	for i, b := range boxes {
		if got := b.must("cat f"); got != fmt.Sprintf("%d\n", i) {
			t.Errorf("%s has %q", b.ID, got)
		}
	}
}

// Spares that somebody takes away are made again.
func TestPoolSparesAreReplaced(t *testing.T) {
	t.Parallel()
	s := start(t, poolOfTwo)
	old := s.awaitSpares(2)
	mustDocker(t, "kill", old[0])
	mustDocker(t, "rm", "-f", old[1])
	s.create().alive()
	for _, id := range s.awaitSpares(2) {
		if slices.Contains(old, id) {
			t.Errorf("%s is still there", id)
		}
	}
}

// A server that ends takes its spares along; sandboxes stay.
func TestPoolEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, poolOfTwo)
	b := s.create()
	s.awaitSpares(2)
	s.Close()
	if ids := s.spares(); len(ids) > 0 {
		t.Errorf("spares %q outlive the server", ids)
	}
	s.up()
	b.alive()
}
