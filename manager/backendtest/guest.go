package backendtest

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// guest is one connection to a fake container.
type guest struct {
	fake *Fake
	box  *container
	root *node
	// readOnly is the container's when the guest came: a restart may change that.
	readOnly bool
	// conn ends when the connection is lost or closed.
	conn context.Context
	cut  context.CancelFunc
}

var _ manager.Guest = (*guest)(nil)

func newGuest(f *Fake, c *container) *guest {
	g := &guest{fake: f, box: c, root: c.root, readOnly: c.readOnly}
	g.conn, g.cut = context.WithCancel(c.alive)
	return g
}

// lose ends the connection; it needs no lock.
func (g *guest) lose() { g.cut() }

// Done implements Guest.
func (g *guest) Done() <-chan struct{} { return g.conn.Done() }

// Close implements Guest.
func (g *guest) Close() error {
	g.cut()
	return nil
}

// SetDeadline implements Guest.
func (g *guest) SetDeadline(ctx context.Context, remaining time.Duration) error {
	return g.call(ctx, OpSetDeadline, func() error {
		g.box.setDeadline(g.fake, remaining)
		return nil
	})
}

func errLost() error {
	return &manager.Error{Kind: manager.KindLost, Message: "the connection to the sandbox was lost", Retryable: true}
}

// call runs a short guest method's effect, under the lock and amid its faults.
func (g *guest) call(ctx context.Context, op Op, effect func() error) error {
	return g.during(ctx, op, func(context.Context) error { return g.locked(effect) })
}

// during runs a guest method amid its faults; the context it passes on ends with
// the connection too.
func (g *guest) during(ctx context.Context, op Op, method func(context.Context) error) error {
	fault := g.fake.enter(op)
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.conn, cancel)()
	err := fault.before(both)
	if err == nil {
		err = guestsWords(op, method(both))
	}
	if err == nil {
		err = fault.after(both)
	}
	return g.verdict(ctx, err)
}

// verdict names the true reason of a failure: the connection's end before the
// context's, before what the method makes of either.
func (g *guest) verdict(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case g.conn.Err() != nil:
		return errLost()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

func (g *guest) locked(effect func() error) error {
	g.fake.mu.Lock()
	defer g.fake.mu.Unlock()
	if g.conn.Err() != nil {
		return errLost()
	}
	return effect()
}
