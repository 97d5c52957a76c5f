package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

var (
	seed       = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of tests that choose at random")
	randomTime = flag.Duration("random-time", 0, "how long those tests go on; by default they are short, and long with -full")
)

// TestCrashRandom is I7 under load: several clients work at once, the server is
// killed at some moment or point, started again (and perhaps killed while it
// starts), and checked; again and again.
//
// The same seed makes the same choices. What they meet depends on the machine:
// a failure may take several runs to come back.
func TestCrashRandom(t *testing.T) {
	t.Parallel()
	limit := *randomTime
	if limit == 0 {
		limit = time.Duration(count(40, 900)) * time.Second
	}
	s := startFaulty(t)
	m := newModel(s)
	again := fmt.Sprintf("-run TestCrashRandom -seed=%d", *seed)
	t.Log(again)
	round := 0
	for end := time.Now().Add(limit); time.Now().Before(end); round++ {
		c := chaos{m: m, rand: rand.New(rand.NewPCG(*seed, uint64(round)))}
		what := c.round()
		if t.Failed() {
			t.Fatalf("in round %d, %s; again: %s\n%s", round, what, again, s.Log())
		}
	}
	t.Logf("%d rounds, %d calls", round, m.calls)
}

// chaos is one round.
type chaos struct {
	m    *model
	rand *rand.Rand
}

const chaosClients = 4

// round lets clients work on a server that is killed, and checks the next one.
// It tells how the server was killed.
func (c *chaos) round() string {
	s := c.m.s
	s.t.Helper()
	s.Kill()
	pool := fmt.Sprintf("--warm-pool=%d", c.rand.IntN(3)/2)
	o := s.launch(pool)
	patience := time.Duration(200+c.rand.IntN(2500)) * time.Millisecond
	what := fmt.Sprintf("killed after %v", patience)
	if c.rand.IntN(2) == 0 {
		point := fmt.Sprintf("%s:%d", faults.Points[c.rand.IntN(len(faults.Points))], 1+c.rand.IntN(3))
		what, o.Env = "killed at "+point+", or after "+patience.String(), append(slices.Clone(o.Env), "MCP_SANDBOX_CRASH_AT="+point)
	}
	if started, err := client.Start(ctx(s.t), o); err == nil {
		s.use(started)
		c.work(patience)
	} else if !strings.Contains(what, " at ") {
		s.t.Errorf("%v", err)
	}
	c.m.note()
	for c.rand.IntN(3) == 0 { // the next one dies as it starts
		p, err := client.Launch(s.launch(pool))
		check(s.t, err)
		moment := time.Duration(c.rand.IntN(400)) * time.Millisecond
		p.ExitCode(moment)
		p.Kill()
		what += fmt.Sprintf(", the next one after %v", moment)
	}
	s.up(pool)
	checkInvariants(s.t, s, c.m)
	return what
}

// work lets clients make calls until the server is dead.
func (c *chaos) work(patience time.Duration) {
	s := c.m.s
	var clients sync.WaitGroup
	for range chaosClients {
		r := rand.New(rand.NewPCG(c.rand.Uint64(), 0))
		clients.Go(func() {
			for s.Running() {
				c.m.act(r)
			}
		})
	}
	s.ExitCode(patience)
	s.Kill()
	clients.Wait()
}

// act makes one call.
func (m *model) act(r *rand.Rand) {
	b, snap := m.pick(r)
	choice := r.IntN(20)
	switch {
	case b == nil || choice == 0:
		m.create(args{})
	case choice < 5:
		m.exec(b, m.newName(), "x")
	case choice < 8:
		m.write(b, fmt.Sprint("f", r.IntN(3)), strings.Repeat(m.newName(), 1+r.IntN(2)*r.IntN(100_000)))
	case choice < 10:
		m.renew(b, time.Duration(500+r.IntN(500))*time.Second)
	case choice == 10 && r.IntN(3) == 0:
		m.renew(b, time.Duration(1+r.IntN(3))*time.Second)
	case choice == 11:
		m.destroy(b)
	case choice == 12:
		m.forkSandbox(b)
	case snap == nil || choice < 15:
		m.snapshot(b)
	case choice < 17:
		m.rollback(b, snap)
	case choice == 17:
		m.fork(snap, 1+r.IntN(2))
	case choice == 18:
		m.upload(m.newName(), "uploaded")
	default:
		m.deleteSnapshot(snap)
	}
}

// pick chooses a sandbox and a snapshot, nil where there is none. Of too many of
// either one goes first. One that may be in very many states is left alone until
// it is known in which: each call without an answer doubles them.
func (m *model) pick(r *rand.Rand) (b *modelSandbox, snap *modelSnapshot) {
	const most, mostStates = 7, 64
	m.mu.Lock()
	var sandboxes []*modelSandbox
	for _, b := range m.sandboxes {
		if _, must := b.expired(time.Now()); !must && !b.mayGo && len(b.states) <= mostStates {
			sandboxes = append(sandboxes, b)
		}
	}
	var snapshots []*modelSnapshot
	for _, snap := range m.snapshots {
		if !snap.mayGo && len(snap.files) <= mostStates {
			snapshots = append(snapshots, snap)
		}
	}
	m.mu.Unlock()
	// In the order in which they were made.
	slices.SortFunc(sandboxes, func(a, b *modelSandbox) int { return a.number - b.number })
	slices.SortFunc(snapshots, func(a, b *modelSnapshot) int { return a.number - b.number })
	if len(sandboxes) > most {
		m.destroy(sandboxes[0])
		sandboxes = sandboxes[1:]
	}
	if len(snapshots) > most {
		m.deleteSnapshot(snapshots[0])
		snapshots = snapshots[1:]
	}
	if n := len(sandboxes); n > 0 {
		b = sandboxes[r.IntN(n)]
	}
	if n := len(snapshots); n > 0 {
		snap = snapshots[r.IntN(n)]
	}
	return b, snap
}
