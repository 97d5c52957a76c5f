package manager

import (
	"context"
	"sync"
)

// gate is the door of one sandbox. Calls enter and leave freely, any number at
// once. One operation at a time may hold the claim (create, snapshot,
// rollback); calls still pass meanwhile. Rollback closes the gate for the
// moment of the switch and reopens it; destroy closes it for good. Closing
// cancels what is inside with a cause, and then one waits for it to leave.
//
// The zero gate is open.
type gate struct {
	mu     sync.Mutex
	inside map[*pass]bool
	holder *pass
	refuse *Error // for who wants to enter; nil while open
	final  bool   // never opens again
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

// enter lets a call in.
func (g *gate) enter(ctx context.Context) (*pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.enterLocked(ctx, "")
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

// close refuses new calls with one error and ends those inside, but not except,
// with another. It returns the passes to wait for, and false when the gate was
// closed for good before: then who called has lost to a destroy.
func (g *gate) close(refuse, cause *Error, final bool, except *pass) (inside []*pass, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.final && !final {
		return nil, false
	}
	g.refuse, g.final = refuse, final
	for p := range g.inside {
		if p != except {
			p.cancel(cause)
			inside = append(inside, p)
		}
	}
	return inside, true
}

// reopen lets calls in again, unless the gate was closed for good.
func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.final {
		g.refuse = nil
	}
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
