package manager

import (
	"context"
	"sync"
)

// gate is the door of one sandbox. Calls enter and leave freely, any number at
// once. One operation at a time may hold the claim (create, snapshot,
// rollback); calls still pass meanwhile. Rollback shuts the gate for the moment
// of the switch, and calls wait in front of it; destroy closes it for good.
// Either cancels what is inside with a cause, and then one waits for it to leave.
//
// The zero gate is open.
type gate struct {
	mu     sync.Mutex
	inside map[*pass]bool
	holder *pass
	shut   chan struct{} // while shut for a moment: closed when that is over
	refuse *Error        // once closed for good: what is told to who wants to enter
}

// pass is one call inside a gate. Its ctx ends when the caller's does, and with
// an [*Error] as cause when the gate closes.
type pass struct {
	gate   *gate
	ctx    context.Context
	cancel context.CancelCauseFunc
	op     string
	left   chan struct{}
	once   sync.Once
}

// enter lets a call in, after the moment for which the gate may be shut.
func (g *gate) enter(ctx context.Context) (*pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut != nil {
		if err := g.awaitOpenLocked(ctx); err != nil {
			return nil, err
		}
	}
	return g.enterLocked(ctx, "")
}

// awaitOpenLocked lets go of the lock while it waits.
func (g *gate) awaitOpenLocked(ctx context.Context) error {
	shut := g.shut
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// claim lets an operation in that keeps others of its kind out. op completes
// "a … of this sandbox is in progress".
func (g *gate) claim(ctx context.Context, op string) (*pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse == nil && g.holder != nil {
		return nil, busy(g.holder.op)
	}
	p, err := g.enterLocked(ctx, op)
	if err == nil {
		g.holder = p
	}
	return p, err
}

func (g *gate) enterLocked(ctx context.Context, op string) (*pass, error) {
	if g.refuse != nil {
		return nil, g.refuse
	}
	p := &pass{gate: g, op: op, left: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	if g.inside == nil {
		g.inside = map[*pass]bool{}
	}
	g.inside[p] = true
	return p, nil
}

// leave ends a pass, and its claim when it has one. It is idempotent.
func (p *pass) leave() {
	p.once.Do(func() {
		p.gate.mu.Lock()
		delete(p.gate.inside, p)
		if p.gate.holder == p {
			p.gate.holder = nil
		}
		p.gate.mu.Unlock()
		p.cancel(nil)
		close(p.left)
	})
}

// shutFor shuts the gate for its holder, until that reopens it, and ends the
// calls inside. It returns the passes to wait for, and false when the gate is
// closed for good: then who called has lost to a destroy.
func (g *gate) shutFor(holder *pass, cause *Error) (inside []*pass, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse != nil {
		return nil, false
	}
	g.shut = make(chan struct{})
	return g.cancelLocked(cause, holder), true
}

// reopen ends shutFor, unless close has.
func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unshutLocked()
}

func (g *gate) unshutLocked() {
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// close refuses new calls with one error, for good, and ends those inside with
// another. It returns the passes to wait for.
func (g *gate) close(refuse, cause *Error) (inside []*pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = refuse
	g.unshutLocked()
	return g.cancelLocked(cause, nil)
}

func (g *gate) cancelLocked(cause *Error, except *pass) (inside []*pass) {
	for p := range g.inside {
		if p != except {
			p.cancel(cause)
			inside = append(inside, p)
		}
	}
	return inside
}

// awaitLeft waits until all passes have left or ctx ends.
func awaitLeft(ctx context.Context, passes []*pass) error {
	for _, p := range passes {
		select {
		case <-p.left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
