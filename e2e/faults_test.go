package e2e

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestFaults: servers that die, clients that give up, neighbours that misbehave.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := start(t)
	alone(t, s, []testCase[*server]{
		{"I7 killed at any moment", killedAnywhere},
		{"H6 N11 clients that give up", impatientClients},
		{"I10 nothing stays behind", nothingStays},
		{"M5 bad neighbours", badNeighbours},
	})
}

// killedAnywhere: after a crash in the middle of anything all that is left is
// what is listed, and what is listed works.
func killedAnywhere(s *server) {
	b := s.create()
	b.must("head -c 3000000 /dev/urandom > random; echo kept > f")
	snap := b.snapshot("x")
	for tool, a := range map[string]args{
		"sandbox_create":  {},
		"snapshot":        {"sandbox_id": b.ID},
		"rollback":        {"sandbox_id": b.ID, "snapshot_id": snap.ID},
		"fork":            {"snapshot_id": snap.ID, "count": 2},
		"sandbox_destroy": {"sandbox_id": schemas.SandboxID("")},
	} {
		for range count(2, 10) {
			if tool == "sandbox_destroy" {
				a["sandbox_id"] = s.create().ID
			}
			wait := inBackground(func() { s.Call(ctx(s.t), tool, a, nil) })
			time.Sleep(rand.N(time.Second)) // the moment of the crash
			s.restart()
			wait()
			checkInvariants(s.t, s, nil)
			s.fewer()
		}
	}
	for _, snap := range s.snapshots() {
		f := s.fork(snap.ID)
		if out := f.must("cat f; wc -c < random"); out != "kept\n3000000\n" {
			s.t.Errorf("snapshot %s has %q", snap.ID, out)
		}
		check(s.t, s.destroy(f.ID))
	}
}

// fewer makes room for more sandboxes.
func (s *server) fewer() {
	s.t.Helper()
	for len(s.list()) > 3 {
		check(s.t, s.destroy(s.list()[len(s.list())-1].ID))
	}
}

// impatientClients: a create that its client gave up is finished or undone, but
// never half there.
func impatientClients(s *server) {
	repeat(s.t, count(6, 20), 3, func(i int) error {
		c, cancel := context.WithTimeout(context.Background(), time.Duration(50+i*60)*time.Millisecond)
		defer cancel()
		s.Call(c, "sandbox_create", args{}, nil)
		return nil
	})
	checkInvariants(s.t, s, nil)
}

func nothingStays(s *server) {
	for range count(2, 20) {
		b := s.create()
		b.must("head -c 10000000 /dev/zero > f")
		check(s.t, s.destroy(b.ID))
	}
	short := s.create(args{"timeout_seconds": 1})
	snap, err := try[schemas.Snapshot](s, "snapshot", args{"sandbox_id": short.ID})
	gone(s, 15*time.Second)
	if err == nil && len(s.snapshots()) != 1 {
		s.t.Errorf("%s did not outlive its sandbox", snap.ID)
	}
}

// badNeighbours: three sandboxes do their worst, the fourth does not notice.
func badNeighbours(s *server) {
	good := s.create()
	c, cancel := context.WithCancel(ctx(s.t))
	var waits []func()
	for _, command := range []string{
		`bomb() { bomb | bomb & }; bomb; exec sleep 60`,
		"while :; do cat /dev/zero > /tmp/x; rm /tmp/x; done",
		"yes",
		"tail /dev/zero; while :; do :; done",
	} {
		bad := s.create(args{"memory_mb": 64, "pids_limit": 64, "cpus": 0.3})
		waits = append(waits, inBackground(func() { bad.shContext(c, command, args{"timeout_seconds": 60}) }))
	}
	for range 5 {
		took(s.t, 3*time.Second, "exec beside bad neighbours", func() { good.alive() })
		took(s.t, 3*time.Second, "tools/list beside bad neighbours", func() { s.answers() })
		took(s.t, 3*time.Second, "write_file beside bad neighbours", func() { good.write("f", "x") })
	}
	cancel()
	for _, wait := range waits {
		wait()
	}
	for _, b := range s.list() {
		if err := s.destroy(b.ID); err != nil && client.Code(err) != string(schemas.CodeNotFound) {
			s.t.Error(err)
		}
	}
}
