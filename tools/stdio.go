package tools

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

const (
	// drainTime is how long calls may go on when the input has ended, so that
	// "server < requests" answers them. The TypeScript SDK sends SIGTERM two
	// seconds after it has closed the input.
	drainTime = 1500 * time.Millisecond
	// cancelTime is how long cancelled calls may take to end.
	cancelTime = 2 * time.Second
	// maxInFlight bounds what a client that does not wait can pile up.
	maxInFlight = 1000
)

// ServeStdio serves MCP over in and out, one JSON message a line, until in ends,
// out breaks or ctx is done; calls that still run are then given a moment, and
// cancelled. It returns nil when the client or ctx ended it. Then it may leave a
// goroutine behind that waits for in, since nothing can interrupt a read of it.
//
// It does not use mcp-go's own loop, which runs calls on a pool of at most 100
// workers. There, more long calls than that make others wait, then stop the
// reading of cancels; a cancel that overtakes its call in the queue is lost; and
// a cancelled call is answered although the protocol says not to. Here each
// request has a goroutine and is known by its ID before the next line is read.
func ServeStdio(ctx context.Context, srv *server.MCPServer, in io.Reader, out io.Writer, log *slog.Logger) error {
	return serveLines(ctx, srv, in, out, log, func(*conn, <-chan error) time.Duration { return drainTime })
}

// serveLines calls leave when ctx is done and before calls are given their
// moment, whose length leave returns; end has what ended the input.
func serveLines(ctx context.Context, srv *server.MCPServer, in io.Reader, out io.Writer, log *slog.Logger, leave func(c *conn, end <-chan error) time.Duration) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	broken := make(chan struct{})
	w := &lineWriter{w: out, failed: func() { close(broken) }}
	c := newConn(srv, rand.Text(), log, func(message any) {
		b, err := json.Marshal(message)
		if err != nil {
			log.Error("encode message", "error", err)
			return
		}
		_, _ = w.Write(append(b, '\n')) // the writer remembers a failure
	}, unreadOf(out))
	base = WithOwner(c.context(base), manager.DefaultOwner)

	end := make(chan error, 1)
	go func() { end <- c.readLines(base, in) }()
	var err, cause error
	grace := drainTime
	select {
	case err = <-end:
	case <-broken:
		err = fmt.Errorf("write: %w", w.broken())
	case <-ctx.Done():
		grace, cause = leave(c, end), errEnding
	}
	c.finish(broken, grace, func() { cancel(cause) })
	return err
}

// readLines takes messages until the input ends.
func (c *conn) readLines(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r, maxLine)
		switch {
		case errors.Is(err, errLineTooLong):
			c.write(rpcError(nil, mcp.PARSE_ERROR, fmt.Sprintf("message is longer than %d bytes", maxLine)))
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case len(bytes.TrimSpace(line)) > 0:
			c.dispatch(ctx, line)
		}
	}
}
