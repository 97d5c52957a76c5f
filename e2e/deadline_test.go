package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// deadlineLate is how long after its expiry a sandbox may stop by itself: two
// seconds that the server has to act first, and what a busy machine takes.
const deadlineLate = 15 * time.Second

// TestDeadline is I15: with the server dead, a sandbox is stopped at its expiry,
// however it came to that expiry and whatever it is doing.
func TestDeadline(t *testing.T) {
	t.Parallel()
	t.Run("I15 without a server", deadlineHolds)
	t.Run("I15 the server dies as it renews", deadlineCutShort)
}

// deadlineHolds makes sandboxes of many kinds, kills the server, and looks when
// each of their containers has ended.
func deadlineHolds(t *testing.T) {
	s := start(t, "--reap-interval-seconds=1", "--warm-pool=1")
	source := s.busy("sleep 1000").snapshot("x")
	kinds := []deadlineKind{
		{name: "rolled back", ttl: 5, make: func(s *server) *sandbox {
			b := s.busy("sleep 1000")
			b.rollback(source.ID)
			return b
		}},
		{name: "started again", ttl: 5, make: func(s *server) *sandbox {
			b := s.busy("sleep 1000")
			mustDocker(s.t, "kill", s.containerOf(string(b.ID)))
			b.alive()
			return b
		}},
		{name: "with a fork bomb", ttl: 5, make: func(s *server) *sandbox {
			return s.busy("bomb() { bomb | bomb & }; bomb; sleep 1000")
		}},
		{name: "with busy loops", ttl: 5, make: func(s *server) *sandbox {
			return s.busy("for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; sleep 1000")
		}},
		{name: "with no memory left", ttl: 5, make: func(s *server) *sandbox {
			return s.busy("while :; do tail /dev/zero; done")
		}},
		{name: "with all its processes stopped", ttl: 5, make: func(s *server) *sandbox {
			return s.busy("for i in 1 2 3; do sleep 1000 & done; kill -STOP -1; kill -STOP $$")
		}},
		{name: "renewed for less", ttl: 5, make: func(s *server) *sandbox { return s.create() }},
		{name: "renewed for longer", ttl: 30, make: func(s *server) *sandbox { return s.create(args{"timeout_seconds": 25}) }},
		{name: "forked", make: func(s *server) *sandbox { return s.fork(source.ID, args{"timeout_seconds": 25}) }},
		{name: "untouched", make: func(s *server) *sandbox { return s.create(args{"timeout_seconds": 25}) }},
	}
	boxes, containers := make([]*sandbox, len(kinds)), make([]string, len(kinds))
	for i, k := range kinds { // those that live by their first time to live last
		boxes[i] = k.make(s)
		r, err := readRecord(boxes[i].record())
		check(t, err)
		containers[i] = r.Current.Ref.Container
	}
	repeat(t, len(kinds), len(kinds), func(i int) (err error) {
		if kinds[i].ttl > 0 {
			boxes[i].Sandbox, err = try[schemas.Sandbox](s, "sandbox_set_timeout", args{"sandbox_id": boxes[i].ID, "timeout_seconds": kinds[i].ttl})
		}
		return err
	})
	s.Kill()
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) { stopsAt(t, containers[i], boxes[i].ExpiresAt) })
	}
	s.up()
	eventually(t, settleTime, "what has stopped is removed", func() (bool, any) {
		list, containers, volumes := s.list(), s.containers(), s.volumes()
		return len(list) == 1 && len(containers) <= 1+s.poolSize && len(volumes) == len(containers), []any{list, containers, volumes}
	})
}

// deadlineKind is a kind of sandbox whose time comes while there is no server.
type deadlineKind struct {
	name string
	make func(s *server) *sandbox
	ttl  int // that it is given just before the server dies; 0: it keeps its own
}

// busy is a small sandbox that runs a command in the background.
func (s *server) busy(command string) *sandbox {
	s.t.Helper()
	b := s.create(args{"memory_mb": 64, "pids_limit": 64, "cpus": 0.3})
	b.must("echo '" + command + "' > busy; setsid sh busy >/dev/null 2>&1 &")
	return b
}

// stopsAt wants a container to end by itself at an expiry or soon after it.
func stopsAt(t *testing.T, container string, expiry time.Time) {
	t.Helper()
	var finished string
	eventually(t, time.Until(expiry)+deadlineLate, "it stops by itself", func() (bool, any) {
		state := mustDocker(t, "inspect", "-f", "{{.State.Running}} {{.State.FinishedAt}} {{.State.ExitCode}}", container)
		stopped, rest, _ := strings.Cut(state, " ")
		finished, _, _ = strings.Cut(rest, " ")
		return stopped == "false", state
	})
	at, err := time.Parse(time.RFC3339Nano, finished)
	check(t, err)
	if late := at.Sub(expiry); late < 0 || late > deadlineLate {
		t.Errorf("it has stopped %v after its expiry, should at most %v", late, deadlineLate)
	} else {
		t.Logf("%v after its expiry", late.Round(time.Millisecond))
	}
}

// deadlineCutShort: a server dies when it has recorded a new expiry and told
// nobody. The sandbox is not stopped before its old one, nor does it outlive it;
// and the next server goes by the record.
func deadlineCutShort(t *testing.T) {
	for _, c := range []struct {
		name     string
		ttl, new int
		left     int // sandboxes that the next server has
	}{
		{"for longer", 8, 600, 1},
		{"for less", 12, 3, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startFaulty(t)
			s.create() // so that the image is ready
			b := s.create()
			b.must("echo kept > f")
			b.Sandbox = call[schemas.Sandbox](s, "sandbox_set_timeout", args{"sandbox_id": b.ID, "timeout_seconds": c.ttl})
			container := s.containerOf(string(b.ID))
			s.Kill()
			s.armed("renew.recorded:1", crashOp{})
			b.server = s
			if err := s.Call(ctx(t), "sandbox_set_timeout", args{"sandbox_id": b.ID, "timeout_seconds": c.new}, nil); err == nil {
				t.Error("the server has not died")
			}
			stopsAt(t, container, b.ExpiresAt)
			s.up()
			eventually(t, settleTime, strconv.Itoa(c.left)+" of it is left", func() (bool, any) {
				n := 0
				for _, l := range s.list() {
					if l.ID == b.ID {
						n++
					}
				}
				return n == c.left && (n > 0 || len(s.containers()) == 1), s.containers()
			})
			if c.left > 0 {
				if out := b.must("cat f"); out != "kept\n" {
					t.Errorf("it has %q", out)
				}
				if left := time.Until(s.get(b.ID).ExpiresAt); left < 300*time.Second {
					t.Errorf("it lives for %v", left)
				}
			}
		})
	}
}
