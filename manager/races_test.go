package manager_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/races"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var (
	raceRounds = flag.Int("race-rounds", 10, "how often each pair of operations races")
	raceSeed   = flag.Uint64("race-seed", 0, "repeat the round of this seed only")
)

// TestRaces has every two operations race on one sandbox, each round with other
// delays, and holds what comes of it against the table. Times are small and
// equal on purpose: what happens at one instant of the held clock, the scheduler
// puts in another order each time.
func TestRaces(t *testing.T) {
	for i, a := range races.Ops {
		for _, b := range races.Ops[i:] {
			if len(races.Allowed(a, b)) == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s beside %s", a, b), func(t *testing.T) {
				t.Parallel()
				rounds(t, func(t *testing.T, seed uint64) { newRace(t, seed, a, b).run() })
			})
		}
	}
}

// TestRacesOfMany is TestRaces with up to ten operations at a time.
func TestRacesOfMany(t *testing.T) {
	rounds(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var ops []races.Op
		for range 3 + rng.IntN(8) {
			op := races.Ops[rng.IntN(len(races.Ops))]
			if once := len(races.Allowed(op, op)) == 0; !once || !slices.Contains(ops, op) {
				ops = append(ops, op)
			}
		}
		newRace(t, seed, append(ops, races.Exec)...).run()
	})
}

// rounds runs one race after another, each in a bubble of its own.
func rounds(t *testing.T, round func(*testing.T, uint64)) {
	for i := range *raceRounds {
		seed := *raceSeed
		if seed == 0 {
			seed = uint64(i + 1)
		}
		synctest.Test(t, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("in the round of -race-seed=%d", seed)
				}
			})
			round(t, seed)
		})
		if *raceSeed != 0 {
			return
		}
	}
}

// race is some operations on one sandbox at the same time. Before them, its file
// base says "old" in the snapshot saved, and "new" in the workspace.
type race struct {
	*server // the one that calls are made to; after a restart it is closed
	next    *server
	box     schemas.Sandbox
	saved   schemas.SnapshotID
	ops     []races.Op
	results []result

	mu  sync.Mutex
	rng *rand.Rand
}

// result is what came of one operation.
type result struct {
	op      races.Op
	outcome races.Outcome
	err     error
	renewed time.Time          // by Renew
	snap    schemas.SnapshotID // by Snapshot
	forks   []schemas.Sandbox  // by Fork
}

const (
	// raceTTL is long enough for any race but one with the expiry.
	raceTTL = 900
	// raceTime is the most that any operation may take, of the held clock.
	raceTime = 30 * time.Second
)

func newRace(t *testing.T, seed uint64, ops ...races.Op) *race {
	r := &race{ops: ops, rng: rand.New(rand.NewPCG(seed, 0))}
	spares := 2 * r.rng.IntN(2)
	r.server = start(t, withPool(spares))
	r.next = r.server
	ttl := int64(raceTTL)
	if slices.Contains(ops, races.Expiry) {
		ttl = 5
	}
	r.box = r.create(withTTL(ttl))
	r.mustSh(r.box.ID, "echo old > base")
	r.saved = r.snap(r.box.ID).ID
	r.mustSh(r.box.ID, "echo new > base")
	r.awaitSpares(spares)
	if r.rng.IntN(3) == 0 { // then somebody has to start it
		r.fake.StopContainer(containerOf(r.box.ID))
	}
	return r
}

// pause is a random time, often the same.
func (r *race) pause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	few := []time.Duration{0, 0, 0, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}
	return few[r.rng.IntN(len(few))]
}

func (r *race) run() {
	r.fake.Slow(r.pause)
	if slices.Contains(r.ops, races.Expiry) {
		time.Sleep(time.Until(r.box.ExpiresAt) - 20*time.Millisecond)
	}
	r.results = make([]result, len(r.ops))
	var wg sync.WaitGroup
	for i, op := range r.ops {
		wait := r.pause()
		wg.Go(func() {
			time.Sleep(wait)
			began := time.Now()
			r.results[i] = r.do(op, i)
			if took := time.Since(began); took > raceTime {
				r.t.Errorf("%s took %v", op, took)
			}
		})
	}
	wg.Wait()
	r.fake.Slow(nil)
	synctest.Wait()
	for i, x := range r.results {
		if x.op == races.Expiry && !r.next.isGone(r.box.ID) {
			r.results[i].outcome = races.Renewed
		}
	}
	r.checkOutcomes()
	r.checkState()
	r.checkEnd()
}

func (r *race) checkOutcomes() {
	for i, x := range r.results {
		allowed := func(j int) bool { return i != j && slices.Contains(races.Allowed(x.op, r.ops[j]), x.outcome) }
		if !slices.ContainsFunc(r.indices(), allowed) {
			r.t.Errorf("%s among %v: %s (%v)", x.op, r.ops, x.outcome, x.err)
		}
	}
	if len(r.results) > 2 {
		return
	}
	a, b := r.results[0], r.results[1]
	if a.op == races.Destroy && b.op == races.Destroy && a.outcome == b.outcome {
		r.t.Errorf("both: %s", a.outcome)
	}
	if (a.outcome == races.Busy || b.outcome == races.Busy) && !r.came(a.op, races.Done) && !r.came(b.op, races.Done) {
		r.t.Errorf("%s and %s: each was refused for the other", a.op, b.op)
	}
}

func (r *race) indices() (all []int) {
	for i := range r.ops {
		all = append(all, i)
	}
	return all
}

// came is what came of the operations of a kind.
func (r *race) came(op races.Op, outcomes ...races.Outcome) bool {
	return slices.ContainsFunc(r.results, func(x result) bool {
		return x.op == op && (len(outcomes) == 0 || slices.Contains(outcomes, x.outcome))
	})
}

// checkState holds the sandbox, its snapshots and its forks against what the
// calls said.
func (r *race) checkState() {
	live := map[schemas.SandboxID]bool{}
	must := r.came(races.Destroy, races.Done) || r.came(races.Expiry, races.Done)
	may := must || r.came(races.Destroy, races.Ended)
	if gone := r.next.isGone(r.box.ID); must && !gone || gone && !may {
		r.t.Errorf("after %+v it is gone: %t", r.results, gone)
	} else if !gone {
		live[r.box.ID] = true
		r.checkExpiry()
		r.checkFiles(r.box.ID, true)
	}
	kept := []schemas.SnapshotID{r.saved}
	for _, x := range r.results {
		for _, f := range x.forks {
			live[f.ID] = true
			r.checkFiles(f.ID, false)
			kept = append(kept, *f.SourceSnapshotID)
		}
		if x.snap != "" {
			kept = append(kept, x.snap)
			f := r.next.mustFork(x.snap)
			live[f.ID] = true
			r.checkFiles(f.ID, false)
		}
	}
	eventually(r.t, "old incarnations go", func() bool {
		want := len(live) + r.next.Stats().Spares
		return len(r.fake.Containers()) == want && len(r.fake.Volumes()) == want
	})
	if got := r.next.snapshots(); !sameSet(got, kept) {
		r.t.Errorf("snapshots are %v, not %v", got, kept)
	}
}

func sameSet[T comparable](a, b []T) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x T) bool { return !slices.Contains(b, x) })
}

// checkExpiry: a renewal that is done counts, one that is not does not.
func (r *race) checkExpiry() {
	b, err := r.next.Get(r.t.Context(), owner, r.box.ID)
	if err != nil {
		r.t.Errorf("it is not there: %v", err)
		return
	}
	ends := []time.Time{}
	for _, x := range r.results {
		if x.outcome == races.Done && x.op == races.Renew {
			ends = append(ends, x.renewed)
		}
	}
	if len(ends) == 0 {
		ends = append(ends, r.box.ExpiresAt)
	}
	if !slices.ContainsFunc(ends, b.ExpiresAt.Equal) {
		r.t.Errorf("it expires at %v, not at one of %v", b.ExpiresAt, ends)
	}
}

// checkFiles looks at a workspace, the sandbox's own or of a fork: that is as
// the sandbox was at one moment.
func (r *race) checkFiles(id schemas.SandboxID, own bool) {
	bases := []string{"new\n"}
	switch {
	case own && r.came(races.Rollback, races.Done):
		bases = []string{"old\n"}
	case r.came(races.Rollback, races.Done, races.Ended):
		bases = append(bases, "old\n")
	}
	r.checkFile(id, "base", bases...)
	for i, x := range r.results {
		whole, parts := written(x.op)
		if whole == "" {
			continue
		}
		var allowed []string
		switch {
		case !own || x.outcome == races.Ended:
			allowed = append(parts, whole, none)
		case x.outcome == races.RolledBack:
			allowed = []string{none}
		case x.outcome == races.Done && r.came(races.Rollback, races.Done, races.Ended):
			allowed = []string{whole, none}
		default:
			allowed = []string{whole}
		}
		r.checkFile(id, fileOf(x.op, i), allowed...)
	}
}

// none stands for a file that is not there.
const none = "(none)"

func (r *race) checkFile(id schemas.SandboxID, name string, allowed ...string) {
	got, err := r.next.get(id, name)
	if manager.KindOf(err) == manager.KindNotFound && strings.Contains(err.Error(), name) {
		got, err = none, nil
	}
	if err != nil || !slices.Contains(allowed, got) {
		r.t.Errorf("after %+v, %s has %.20q, %v; want one of %.20q", r.results, name, got, err, allowed)
	}
}

// checkEnd: when all that is known is destroyed, nothing is left.
func (r *race) checkEnd() {
	list, err := r.next.List(r.t.Context(), owner, schemas.Page{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, b := range list.Sandboxes {
		if err := r.next.Destroy(r.t.Context(), owner, b.ID); err != nil {
			r.t.Errorf("destroy: %v", err)
		}
	}
	if files, ids := r.next.snapFiles(), r.next.snapshots(); len(files) != 2*len(ids) {
		r.t.Errorf("files %v of snapshots %v", files, ids)
	}
	// What was given up is removed without anybody waiting for it.
	eventually(r.t, "no record is left", func() bool { return len(r.next.records()) == 0 })
	if err := r.next.Close(); err != nil { // which removes spares
		r.t.Error(err)
	}
	r.next.wantNothingLeft()
}
