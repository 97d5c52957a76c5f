package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// conn makes a net.Conn of a plain byte stream. Its first error, in either
// direction, is final: it closes the stream and ends ctx.
type conn struct {
	rw    io.ReadWriteCloser
	early []byte // read with the handshake, but of the session

	ctx    context.Context // lives as long as the channel; its cause wraps ErrLost
	cancel context.CancelCauseFunc
}

func newConn(rw io.ReadWriteCloser) *conn {
	c := &conn{rw: rw}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	context.AfterFunc(c.ctx, func() { rw.Close() })
	return c
}

var errClosed = errors.New("closed by the server")

// die ends the channel; only the first cause counts.
func (c *conn) die(cause error) { c.cancel(fmt.Errorf("%w: %w", ErrLost, cause)) }

// err is nil while the channel lives, and wraps ErrLost afterwards.
func (c *conn) err() error { return context.Cause(c.ctx) }

// explain returns why the channel died, or err if it did not.
func (c *conn) explain(err error) error {
	if cause := c.err(); cause != nil {
		return cause
	}
	return err
}

func (c *conn) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	n, err := c.rw.Read(p)
	if err != nil {
		c.die(err)
	}
	return n, err
}

// Write gives up on a guest that takes nothing for a long time: HTTP/2 holds a
// lock during a write, so one that never returned would block every call.
func (c *conn) Write(p []byte) (int, error) {
	timer := time.AfterFunc(writeTimeout, func() {
		c.die(fmt.Errorf("guest accepts no input for %v", writeTimeout))
	})
	defer timer.Stop()
	n, err := c.rw.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		c.die(err)
	}
	return n, err
}

func (c *conn) Close() error {
	c.die(errClosed)
	return nil
}

// The rest of net.Conn; HTTP/2 is set up so that it needs no deadlines.

func (c *conn) LocalAddr() net.Addr              { return addr{} }
func (c *conn) RemoteAddr() net.Addr             { return addr{} }
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

type addr struct{}

func (addr) Network() string { return "guest" }
func (addr) String() string  { return "guest" }
