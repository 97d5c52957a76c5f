package tools

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// HTTPConfig is what the HTTP transports need to know. Who may call, from which
// host and origin, is checked in front of them.
type HTTPConfig struct {
	// Owner says whose request it is, from its context.
	Owner func(context.Context) (manager.Owner, bool)
	Log   *slog.Logger
}

const (
	// sessionIdle is how long a session of streamable HTTP may go unused. It is
	// long because many clients do not begin anew when theirs is forgotten, and
	// costs nothing, as no sandbox hangs on it.
	sessionIdle = 24 * time.Hour
	// maxSessions bounds the sessions of one owner, of each transport.
	maxSessions = 1000
)

// patience is how long, and how much, the transports take from a client.
type patience struct {
	body      int64         // longest message
	bodyPause time.Duration // in the middle of a body
	write     time.Duration // of a client that does not read
	keepAlive time.Duration // of a stream with nothing to say; proxies cut silent ones, many after 60 s
	ending    time.Duration // for calls that came over SSE, when the server ends
}

// usual: ending is longer than a manager gives its calls when it closes, so that
// they end with what that says.
var usual = patience{
	body: maxLine, bodyPause: 30 * time.Second, write: 30 * time.Second,
	keepAlive: 15 * time.Second, ending: 10 * time.Second,
}

// MessagePath is where [HTTP.Message] has to be mounted: clients are told so.
const MessagePath = "/message"

// HTTP serves MCP over HTTP: [HTTP.Streamable] for clients of today, and
// [HTTP.SSE] with [HTTP.Message] for older ones.
type HTTP struct {
	srv   *server.MCPServer
	rpc   *server.StreamableHTTPServer
	owner func(context.Context) (manager.Owner, bool)
	log   *slog.Logger
	patience

	sessions *sessions // of streamable HTTP
	streams  *streams  // of SSE
	crowds   crowds

	closing context.Context
	close   context.CancelFunc
}

// NewHTTP serves srv over HTTP until [HTTP.Close].
func NewHTTP(srv *server.MCPServer, cfg HTTPConfig) *HTTP {
	h := &HTTP{
		srv: srv, owner: cfg.Owner, log: cfg.Log, patience: usual,
		sessions: newSessions(sessionIdle, maxSessions),
		streams:  newStreams(maxSessions),
		// mcp-go sees only messages that may be handled. Of sessions it knows
		// nothing: each request gets one of its own and shares no channel.
		rpc: server.NewStreamableHTTPServer(srv, server.WithStreamableHTTPLogger(cfg.Log),
			server.WithSessionIdManager(&server.StatelessSessionIdManager{})),
	}
	h.closing, h.close = context.WithCancel(context.Background())
	return h
}

// Close begins the end of all streams. Those on which nothing runs end at once,
// the others when their calls have ended, which for a while may be by
// themselves. It returns at once: [http.Server.Shutdown] waits for them.
func (h *HTTP) Close() { h.close() }

// caller is the request's context for the tools, and whose it is.
func (h *HTTP) caller(r *http.Request) (context.Context, manager.Owner, bool) {
	owner, ok := h.owner(r.Context())
	return WithOwner(r.Context(), owner), owner, ok
}
