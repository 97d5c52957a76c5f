package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/vitals"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var (
	soakTime = flag.Duration("soak", 15*time.Second, "how long TestSoak works, besides its checks")
	soakSeed = flag.Uint64("soak-seed", uint64(os.Getpid()), "what TestSoak does in which order")
)

const (
	soakWorkers = 6
	// soakBursts is how many times the work is interrupted for a check: a third of
	// them by the end of the server, the other two by nothing else, so that one
	// process can be seen to stay as it was.
	soakBursts = 9
	// soakSlack is what the server may hold beyond what it held at first: what the
	// runtime keeps for itself.
	soakSlack, soakMemory = 6, 32 << 20
)

// TestSoak does random work for long: whatever clients do, and servers that end
// and are killed. Each burst of it ends in a check of all that must hold, and
// when all sandboxes are destroyed the server holds what it held before. The
// same seed does the same, but for what depends on time.
func TestSoak(t *testing.T) {
	t.Parallel()
	t.Logf("-soak-seed=%d", *soakSeed)
	k := &soak{m: newModel(startAt(t, client.REST, "--reap-interval-seconds=1", "--max-sandboxes=40", "--warm-pool=1"))}
	k.m.mayFail = true // servers end under calls
	for i := range soakBursts / 3 {
		k.burst(i, true, i%2 == 0)
	}
	k.m.mayFail = false
	k.clear()
	before := k.vitals("at first")
	var first, last vitals.Vitals
	for i := soakBursts / 3; i < soakBursts; i++ {
		k.burst(i, false, false)
		k.clear()
		last = k.vitals(fmt.Sprintf("after burst %d", i))
		if i == soakBursts*2/3-1 {
			first = last
		}
	}
	t.Logf("%d calls", k.calls.Load())
	if last.Goroutines > first.Goroutines+soakSlack || last.Descriptors > first.Descriptors+soakSlack || last.RSS > first.RSS+soakMemory {
		t.Errorf("the server has grown from %v to %v", first.Cells(), last.Cells())
	}
	if last.Goroutines > before.Goroutines+3*soakSlack || last.Descriptors > before.Descriptors+3*soakSlack || last.RSS > before.RSS+2*soakMemory {
		t.Errorf("without sandboxes the server holds %v, and held %v", last.Cells(), before.Cells())
	}
}

// soak is long random work on one server.
type soak struct {
	m      *model
	calls  atomic.Int64
	ending atomic.Bool // of the server, or of the burst: calls may be cut off
}

// burst lets the workers work for a while, and then checks. dies: the server ends
// under their calls, killed or by itself, and the next one is checked.
func (k *soak) burst(n int, dies, killed bool) {
	s := k.m.s
	s.t.Helper()
	k.ending.Store(false)
	over := make(chan struct{})
	var workers sync.WaitGroup
	for i := range soakWorkers {
		w := &worker{soak: k, rng: rand.New(rand.NewPCG(*soakSeed, uint64(n*soakWorkers+i)))}
		workers.Go(func() { w.work(over) })
	}
	time.Sleep(*soakTime / soakBursts)
	if dies {
		k.ending.Store(true)
		if killed {
			s.Kill()
		} else {
			s.Signal(syscall.SIGTERM)
		}
	}
	close(over)
	workers.Wait()
	if dies {
		if code, err := s.ExitCode(20 * time.Second); err != nil || !killed && code != 0 {
			s.t.Fatalf("the server ended with %d, %v\n%s", code, err, tail(s.Log()))
		}
		s.checkLog()
		s.up()
	}
	checkInvariants(s.t, s, k.m)
	if s.t.Failed() {
		s.t.Fatalf("in burst %d of -soak-seed=%d", n, *soakSeed)
	}
}

// clear destroys all, and waits until there is no more of it.
func (k *soak) clear() {
	s := k.m.s
	s.t.Helper()
	for _, b := range s.list() {
		if err := s.destroy(b.ID); err != nil && client.Code(err) != string(schemas.CodeNotFound) { // it may expire now
			s.t.Error(err)
		}
	}
	s.empty()
	s.rest(nil)
	k.m = newModel(s)
}

// vitals waits until the server holds no more than its pool.
func (k *soak) vitals(when string) (now vitals.Vitals) {
	s := k.m.s
	s.t.Helper()
	eventually(s.t, settleTime, "the pool is full and no call runs", func() (bool, any) {
		spares := len(s.containers())
		running, err := vitals.Metric(ctx(s.t), s.Client, "mcp_sandbox_execs_in_flight")
		return err == nil && spares == s.poolSize && running == 0, []any{spares, running, err}
	})
	time.Sleep(time.Second) // for connections that were closed to be noticed
	now, err := vitals.Read(ctx(s.t), s.Client)
	check(s.t, err)
	s.t.Logf("%-14s %v, containers %d, volumes %d, files %d", when, now.Cells(), len(s.containers()), len(s.volumes()), len(dataFiles(s.t, s.dir)))
	return now
}
