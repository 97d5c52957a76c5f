package backendtest

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Op names one method of Backend or Guest.
type Op string

// The methods that can be counted and made to fail.
const (
	OpProbe        Op = "Probe"
	OpPrepareImage Op = "PrepareImage"
	OpHasImage     Op = "HasImage"
	OpCreate       Op = "Create"
	OpOpen         Op = "Open"
	OpInspect      Op = "Inspect"
	OpRemove       Op = "Remove"
	OpList         Op = "List"
	OpRemoveFound  Op = "RemoveFound"
	OpAdopt        Op = "Adopt"

	OpExec        Op = "Guest.Exec"
	OpExecs       Op = "Guest.Execs"
	OpPoll        Op = "Guest.Poll"
	OpInput       Op = "Guest.Input"
	OpSignal      Op = "Guest.Signal"
	OpKill        Op = "Guest.Kill"
	OpResize      Op = "Guest.Resize"
	OpRead        Op = "Guest.Read"
	OpWrite       Op = "Guest.Write"
	OpStat        Op = "Guest.Stat"
	OpListFiles   Op = "Guest.List"
	OpMkdir       Op = "Guest.Mkdir"
	OpMove        Op = "Guest.Move"
	OpDelete      Op = "Guest.Delete"
	OpPack        Op = "Guest.Pack"
	OpUnpack      Op = "Guest.Unpack"
	OpSetDeadline Op = "Guest.SetDeadline"
)

// Fault is what happens to calls of one method. Zero fields do nothing. The
// waits end early, with the context's error, when the call's context ends.
type Fault struct {
	Times  int             // how many calls it is for; 0: all, until Heal
	Delay  time.Duration   // before it takes effect
	Wait   <-chan struct{} // before it takes effect, until closed
	Before error           // fails without taking effect
	Hold   <-chan struct{} // after it took effect, until closed
	After  error           // fails though it took effect: its answer is lost
	Linger time.Duration   // after it took effect
}

// Inject adds a fault to a method; the oldest that still has calls left counts.
func (f *Fake) Inject(op Op, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault.Times == 0 {
		fault.Times = -1
	}
	f.faults[op] = append(f.faults[op], &fault)
}

// Slow makes every call that has no fault take time, before it takes effect and
// again after. A nil delay ends that. It is called from many goroutines.
func (f *Fake) Slow(delay func() time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = delay
}

// Heal removes the faults of a method.
func (f *Fake) Heal(op Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.faults, op)
}

// Calls tells how many calls of a method there were, failed ones included.
func (f *Fake) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// GoDown makes the backend unreachable: calls are KindUnavailable and open
// guests are lost. Containers run on.
func (f *Fake) GoDown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	for _, c := range f.containers {
		c.disconnect()
	}
}

// ComeBack ends GoDown.
func (f *Fake) ComeBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = false
}

// call runs a backend method's effect, under the lock and amid its faults.
func (f *Fake) call(ctx context.Context, op Op, effect func() error) error {
	fault := f.enter(op)
	if err := fault.before(ctx); err != nil {
		return err
	}
	if err := f.locked(effect); err != nil {
		return err
	}
	return fault.after(ctx)
}

func (f *Fake) locked(effect func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return &manager.Error{Kind: manager.KindUnavailable, Message: "the backend does not answer", Retryable: true}
	}
	return effect()
}

// enter counts a call and takes the fault that is for it.
func (f *Fake) enter(op Op) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	i := slices.IndexFunc(f.faults[op], func(x *Fault) bool { return x.Times != 0 })
	if i < 0 {
		return f.slowLocked()
	}
	f.faults[op][i].Times--
	return *f.faults[op][i]
}

func (f *Fake) slowLocked() Fault {
	if f.delay == nil {
		return Fault{}
	}
	return Fault{Delay: f.delay(), Linger: f.delay()}
}

func (x Fault) before(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := sleep(ctx, x.Delay); err != nil {
		return err
	}
	if err := wait(ctx, x.Wait); err != nil {
		return err
	}
	return x.Before
}

func (x Fault) after(ctx context.Context) error {
	if err := sleep(ctx, x.Linger); err != nil {
		return err
	}
	if err := wait(ctx, x.Hold); err != nil {
		return err
	}
	return x.After
}

func wait(ctx context.Context, c <-chan struct{}) error {
	if c == nil {
		return nil
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
