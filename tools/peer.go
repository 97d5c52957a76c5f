package tools

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	// leavingMethod tells a [Forwarder] that its server is about to end, so that
	// it sends nothing more: it closes its side, and holds what its client says
	// for the next server. It never gets to a client.
	leavingMethod = "notifications/mcp-sandbox/leaving"
	// leaveTime is how long a forwarder may take for that.
	leaveTime = time.Second
)

// ServePeer is [ServeStdio] for a client behind a [Forwarder]. When ctx is done it
// has the forwarder send nothing more, gives calls that still run grace, and then
// cancels them; they are answered as calls that may be tried again. The caller
// closes peer afterwards, and may close it at any time.
func ServePeer(ctx context.Context, srv *server.MCPServer, peer io.ReadWriter, grace time.Duration, log *slog.Logger) error {
	return serveLines(ctx, srv, peer, peer, log, func(c *conn, end <-chan error) time.Duration {
		go c.write(Notification(leavingMethod, nil)) // it may not be reading
		select {
		case <-end:
		case <-time.After(leaveTime):
		}
		return grace
	})
}
