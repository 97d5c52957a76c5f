package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// emitter takes a command's output.
type emitter = func(schemas.Stream, []byte) error

const (
	// reportTime is how long after a command's timeout its end must have been
	// reported; killing and draining are done within a second of it.
	reportTime = 5 * time.Second
	// killTime is how long the guest may take to report a cancelled command.
	killTime = 3 * time.Second
)

var errSilent = errors.New("the guest did not report the command's end")

// reportDue is how long the guest may take to report the command's end, or its
// hand-over.
func reportDue(c Command) time.Duration {
	if c.Background == nil {
		return c.Timeout + reportTime
	}
	due := c.Background.Wait
	if c.Timeout > 0 {
		due = min(due, c.Timeout)
	}
	return due + reportTime
}

// run runs a command in the guest and does not trust it to come back: a guest
// that reports neither end nor output is given up, and its connection with it.
func (v *visit) run(c Command, emit emitter) (Exit, error) {
	ctx, cancel := context.WithCancelCause(v.ctx)
	defer cancel(nil)
	p := &pump{emit: emit, guestTurn: time.Now()}
	type outcome struct {
		exit Exit
		err  error
	}
	done := make(chan outcome, 1)
	faults.Point("exec.begun")
	go func() {
		exit, err := v.guest.Exec(ctx, c, p.put)
		done <- outcome{exit, err}
	}()
	overdue := time.NewTimer(reportDue(c))
	defer overdue.Stop()
	ended := ctx.Done()
	for {
		select {
		case o := <-done:
			faults.Point("exec.ended")
			return o.exit, o.err
		case <-ended:
			ended = nil // once; from here on the kill must be reported
			overdue.Reset(killTime)
			continue
		case <-overdue.C:
		}
		if rest := p.rest(ended == nil); rest > 0 {
			overdue.Reset(rest)
			continue
		}
		if ended != nil && c.Background != nil && c.Stdin != nil {
			cancel(unreadInput())
			continue
		}
		p.stop()
		v.s.currentLink().drop(v.guest)
		if err := context.Cause(v.ctx); err != nil {
			return Exit{}, err
		}
		return Exit{}, silent()
	}
}

// unreadInput is why a hand-over can be late: the guest keeps a command's input
// for it, up to a size.
func unreadInput() *Error {
	return &Error{
		Kind: KindConflict, Message: "the command had not read its standard input when it was to go on in the background, and so much of it cannot be kept; the command was killed",
		Hint: "Write the input to a file and let the command read that.",
	}
}

func silent() *Error {
	return &Error{
		Kind: KindBackend, Cause: errSilent, Retryable: true,
		Message: "the sandbox did not report how the command ended, long after its timeout",
		Hint:    "The sandbox may be overloaded or paused. Check what the command has done before repeating it; if this goes on, roll back or destroy the sandbox.",
	}
}

// pump hands output on, and knows whose turn it is: while the receiver blocks,
// the guest cannot be blamed for being late.
type pump struct {
	emit    emitter
	sending sync.Mutex // held while the receiver has the chunk

	mu        sync.Mutex
	blocked   bool      // the receiver has a chunk now
	guestTurn time.Time // since when it has not
	stopped   bool
}

func (p *pump) put(s schemas.Stream, chunk []byte) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	if !p.turn(true) {
		return errSilent
	}
	defer p.turn(false)
	faults.Point("exec.output")
	return p.emit(s, chunk)
}

func (p *pump) turn(blocked bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocked, p.guestTurn = blocked, time.Now()
	return !p.stopped
}

// rest is how much longer the guest may be silent; killed when it has nothing
// left to send.
func (p *pump) rest(killed bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blocked {
		return reportTime
	}
	if killed {
		return 0
	}
	return time.Until(p.guestTurn.Add(reportTime))
}

// stop makes sure that the receiver gets nothing more, and has let go of what it
// got: it belongs to a caller that is about to return.
func (p *pump) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.sending.Lock()
	defer p.sending.Unlock()
}
