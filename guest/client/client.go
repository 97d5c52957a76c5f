// Package client is the server's end of the channel to a sandbox's guest.
//
// [Dial] takes the byte stream that is attached to the guest's standard input
// and output, agrees on a fresh session and returns a [Client], which makes any
// number of calls at once until the channel dies:
//
//	c, err := client.Dial(ctx, attached, key)
//	result, err := c.Exec(ctx, protocol.ExecParams{Argv: []string{"true"}, …}, nil, emit)
//
// # Trust
//
// The guest runs beside whatever the sandbox's owner runs, so all that it says
// is treated as hostile: every length is bounded before memory is taken, every
// number is range-checked, and nothing is buffered beyond the HTTP/2 windows.
//
// # Errors
//
//   - *[protocol.Error]: the guest said no, with a code.
//   - [ErrLost]: the channel died, or a response ended before its end. Whether
//     the call took effect is unknown, and it must not be repeated blindly.
//   - [ErrHandshake]: the guest never answered [Dial]; a restart of the
//     container heals that.
//   - the caller's own: the context's, emit's, and those of readers and writers
//     that were handed in.
//
// The package builds wherever the server does and knows nothing of Docker.
package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Limits of what a guest may send or hold up.
const (
	writeTimeout      = 30 * time.Second // one write without progress: the channel is dead
	streamWindow      = 512 << 10        // unread bytes that one response may pile up
	maxFrame          = 256 << 10
	maxHeaderBytes    = 64 << 10 // response headers, and likewise trailers
	maxJSON           = 64 << 10 // a JSON answer
	maxList           = 32 << 20 // a page of a directory
	maxParallelUpload = 8
)

// Client makes calls to one guest over one session.
type Client struct {
	conn    *conn
	http    *http.ClientConn
	uploads chan struct{}
	inputs  turns // of each background exec
}

// Dial begins a session over rw and owns rw from then on: it is closed when the
// handshake goes wrong, when the channel dies and by [Client.Close]. The key is
// that of the container, the same on every attach.
//
// It waits for the guest's answer until ctx ends; ctx matters only that long.
func Dial(ctx context.Context, rw io.ReadWriteCloser, key protocol.Key) (*Client, error) {
	c := &Client{conn: newConn(rw), uploads: make(chan struct{}, maxParallelUpload)}
	stop := context.AfterFunc(ctx, func() { c.conn.die(context.Cause(ctx)) })
	err := c.begin(ctx, key)
	if !stop() || err != nil {
		c.conn.die(err)
		return nil, fmt.Errorf("%w: %w", ErrHandshake, c.conn.err())
	}
	return c, nil
}

func (c *Client) begin(ctx context.Context, key protocol.Key) (err error) {
	var nonce protocol.Nonce
	rand.Read(nonce[:])
	if err := c.conn.handshake(key, nonce); err != nil {
		return err
	}
	c.http, err = newTransport(c.conn).NewClientConn(ctx, "http", "guest:80")
	return err
}

// newTransport speaks HTTP/2 on conn from its first byte. It sends no pings: an
// idle channel stays silent, and its end shows as an error on read.
func newTransport(conn net.Conn) *http.Transport {
	t := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		Protocols:              new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxReadFrameSize:          maxFrame,
			MaxReceiveBufferPerStream: streamWindow,
		},
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// Done is closed when the channel has died, for whatever reason.
func (c *Client) Done() <-chan struct{} { return c.conn.ctx.Done() }

// Err says why the channel died, and is nil while it lives. It wraps [ErrLost].
func (c *Client) Err() error { return c.conn.err() }

// Close ends the channel; calls in flight fail with [ErrLost], and the guest
// kills the commands they started once it notices, at the latest when the next
// server attaches.
func (c *Client) Close() error {
	c.http.Close()
	return c.conn.Close()
}
