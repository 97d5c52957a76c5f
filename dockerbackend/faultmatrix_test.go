package dockerbackend

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/faultproxy"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// cell is one case of the matrix: an operation, one of the calls that it makes,
// and what goes wrong with it.
type cell struct {
	op    operation
	call  faultproxy.Call
	fault faultproxy.Fault
	once  bool // only the first such call; else each, until the fault is lifted
}

func (c cell) String() string {
	times := "always"
	if c.once {
		times = "once"
	}
	if c.call == "" {
		c.call = "all calls"
	}
	return fmt.Sprintf("%s, %s %s, %s", c.op.name, c.call, c.fault, times)
}

// callLimit is generous: what must not happen is that a call hangs.
const callLimit = 45 * time.Second

// TestDockerFails: whatever Docker does to any call of any operation, the
// operation ends in time with a typed error or succeeds, what was acknowledged
// stays true, and once Docker is well all works again and nothing is left over.
//
// The calls are those that an operation made in a clean run, so that a new one is
// tried without being told. By default each call is tried with one of the
// faults, in turn; -full tries each with all.
func TestDockerFails(t *testing.T) {
	t.Parallel()
	var workers errgroup.Group
	workers.SetLimit(6) // most of the time somebody waits: more than there are processors
	for _, op := range operations {
		workers.Go(func() error {
			t.Run(op.name, func(t *testing.T) {
				w := newWorld(t, op.pool)
				s := w.standing()
				for _, c := range w.cells(op, s) {
					if !w.try(c, s) {
						return
					}
				}
			})
			return nil
		})
	}
	workers.Wait()
}

// cells learns which calls an operation makes, and gives what to try.
func (w *world) cells(op operation, s *standing) (cells []cell) {
	act := op.prepare(w, s)
	calls := w.proxy.Record()
	if err := act(); err != nil {
		w.Fatalf("%s, with Docker well: %v", op.name, err)
	}
	w.settle()
	made := calls()
	w.wantWhole("a clean run")
	w.tidy(s)
	slices.Sort(made)
	turn := slices.IndexFunc(operations, func(o operation) bool { return o.name == op.name })
	for _, call := range append(slices.Compact(made), "") { // and all of them
		for i, fault := range faultproxy.Faults {
			if *full {
				cells = append(cells, cell{op, call, fault, true}, cell{op, call, fault, false})
			} else if i == turn%len(faultproxy.Faults) {
				cells = append(cells, cell{op, call, fault, turn%2 == 0})
			}
		}
		turn += 5 // has no factor in common with the number of faults
	}
	return cells
}

// try carries out one cell.
func (w *world) try(c cell, s *standing) (ok bool) {
	w.Helper()
	w.Logf("--- %s", c)
	began := time.Now()
	act := c.op.prepare(w, s)
	prepared := time.Now()
	rule := faultproxy.Rule{Call: c.call, Fault: c.fault}
	if c.once {
		rule.Times = 1
	}
	w.back.docker.patience.Store(&impatient)
	w.proxy.Inject(rule)
	lists, end := w.keepsListing(), w.bound()
	err := act()
	end()
	lists()
	w.wantTyped(c.String(), err)
	if took := time.Since(prepared); took > callLimit {
		w.Errorf("%s took %v", c, took)
	}
	w.settle()
	acted := time.Now()
	w.proxy.Lift()
	w.back.docker.patience.Store(&usualPatience)
	w.wantWhole(c.String())
	w.tidy(s)
	w.Logf("--- %s: prepared in %v, acted for %v, healed in %v: %v", c, prepared.Sub(began).Round(time.Millisecond), acted.Sub(prepared).Round(time.Millisecond), time.Since(acted).Round(time.Millisecond), err)
	return !w.Failed()
}

// keepsListing lists sandboxes while something goes on: what the server knows by
// itself it tells at once, whatever Docker does.
func (w *world) keepsListing() (stop func()) {
	m, ctx, done, ended := w.Manager, w.ctx, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			began := time.Now()
			_, err := m.List(ctx, alice, schemas.Page{})
			if took := time.Since(began); err != nil && manager.KindOf(err) != manager.KindUnavailable || took > 6*time.Second {
				w.Errorf("list took %v: %v", took, err)
			}
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() { close(done); <-ended }
}

// bound has all that is begun now end some time, if all else fails.
func (w *world) bound() (end func()) {
	before := w.ctx
	ctx, cancel := context.WithTimeout(before, 2*callLimit)
	w.ctx = ctx
	return func() { cancel(); w.ctx = before }
}

// settle gives the background a moment to get into the same trouble.
func (w *world) settle() { time.Sleep(300 * time.Millisecond) }

// tidy destroys what an operation made.
func (w *world) tidy(s *standing) {
	w.Helper()
	for id := range w.boxes {
		if id != s.box {
			if err := w.destroy(id); err != nil {
				w.Errorf("destroy: %v", err)
			}
		}
	}
}
