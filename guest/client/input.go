package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Input puts all of r into a background exec's standard input, when the inputs
// before it are done, and waits until the command's pipe has taken it. taken is
// known on errors, too, unless the channel is lost; after the end of ctx it takes
// a moment to find out. One Read of r may still be under way when Input returns.
func (c *Client) Input(ctx context.Context, id string, r io.Reader, end bool) (taken int64, err error) {
	leave, err := c.inputs.enter(ctx, c.conn, id)
	if err != nil {
		return 0, err
	}
	defer leave()
	params := protocol.InputParams{ID: id, End: end, Call: rand.Text()}
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	ctx, giveUp := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, func() {
		c.enough(call, params.Call)
		cancel(context.Cause(ctx))
	})
	defer stop()
	var result protocol.InputResult
	s := &source{r: r, giveUp: giveUp, over: call.Done()}
	err = c.call(call, protocol.PathInput, params, s, &result)
	given := s.given.Load()
	switch {
	case err != nil:
		return 0, err
	case result.Taken < 0 || result.Taken > given || result.Error == nil && result.Taken != given:
		return 0, malformed("%d bytes of input taken of %d", result.Taken, given)
	case result.Error == nil:
		return result.Taken, nil
	case ctx.Err() != nil:
		return result.Taken, context.Cause(ctx)
	}
	return result.Taken, checkError(result.Error)
}

// enough makes the guest answer an input that waits, and returns when that has
// happened, or after some time. It asks more than once, for it may come before
// the call that it is about.
func (c *Client) enough(ctx context.Context, call string) {
	ctx, cancel := context.WithTimeout(ctx, killPatience)
	defer cancel()
	for c.call(ctx, protocol.PathEnough, protocol.EnoughParams{Call: call}, nil, &struct{}{}) == nil {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// source is a reader whose failure gives the call up, instead of breaking it: so
// there is still an answer.
type source struct {
	r      io.Reader
	giveUp context.CancelCauseFunc
	over   <-chan struct{} // closed when the call is
	err    error
	given  atomic.Int64
}

func (s *source) Read(p []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.r.Read(p)
		s.given.Add(int64(n))
	}
	switch {
	case s.err == nil, n > 0:
		return n, nil
	case s.err == io.EOF:
		return 0, io.EOF
	}
	s.giveUp(fmt.Errorf("read input: %w", s.err))
	<-s.over
	return 0, s.err
}
