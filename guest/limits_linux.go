package guest

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// How much the guest does at once. More is refused with ErrBusy, so that what
// waits, and the windows that its bodies fill, stay bounded.
const (
	maxExecs     = 48 // and at most as many unread standard inputs
	maxFileCalls = 64
	maxPolls     = 128 // of background execs
	// maxStreams are HTTP/2 calls of any kind: all of the above, an input for each
	// background exec, and room for those that are quick.
	maxStreams = 384
)

// slots counts things that are bounded.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// try takes a slot if one is free.
func (s slots) try() error {
	select {
	case s <- struct{}{}:
		return nil
	default:
		return &protocol.Error{Code: protocol.ErrBusy, Message: "more calls at once than the sandbox serves"}
	}
}

func (s slots) take()    { s <- struct{}{} }
func (s slots) release() { <-s }

// gate holds back what changes the sandbox (new processes, files put in their
// place) while a snapshot is made of it. Many pass at once, one closes it.
type gate struct{ sem *semaphore.Weighted }

const everyone = 1 << 30

func newGate() *gate { return &gate{semaphore.NewWeighted(everyone)} }

// enter passes the gate, waiting while it is closed.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	if err := g.sem.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { g.sem.Release(1) }, nil
}

// closePatience bounds the wait for those inside, behind whom everyone queues
// who wants to enter. Only an upload that does not get on takes that long.
const closePatience = 10 * time.Second

// close waits until nobody is inside and keeps everybody out.
func (g *gate) close(ctx context.Context) (open func(), err error) {
	bounded, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	if err := g.sem.Acquire(bounded, everyone); err != nil {
		if ctx.Err() == nil {
			err = &protocol.Error{Code: protocol.ErrBusy, Message: "an upload into the sandbox is still under way"}
		}
		return nil, err
	}
	return func() { g.sem.Release(everyone) }, nil
}
