package tools

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// conn is a client that is connected by one stream of messages each way, as on
// stdio and SSE. Each request has a goroutine and is known by its ID before the
// next message is taken, so nothing a client sends waits for a long call.
type conn struct {
	srv     *server.MCPServer
	session *server.InProcessSession
	log     *slog.Logger
	// write sends one message. Responses and notifications all pass through it,
	// so that neither overtakes the other.
	write  func(message any)
	unread func() int // what it has not read of that; nil: not known

	pings   pings
	mu      sync.Mutex
	calls   map[string]*inflight // by ID, as it was written
	closing bool
	running sync.WaitGroup
}

// inflight is a request that has not been answered.
type inflight struct {
	cancel    context.CancelFunc
	cancelled bool // by the client, which wants no answer any more
}

func newConn(srv *server.MCPServer, id string, log *slog.Logger, write func(any), unread func() int) *conn {
	return &conn{
		srv: srv, session: server.NewInProcessSession(id, nil), log: log, write: write, unread: unread,
		calls: map[string]*inflight{},
	}
}

// context is ctx for the calls of this client.
func (c *conn) context(ctx context.Context) context.Context { return c.srv.WithContext(ctx, c.session) }

// dispatch never blocks: a cancel may be in the next message.
func (c *conn) dispatch(ctx context.Context, message []byte) {
	e := readEnvelope(message)
	switch {
	case isBatch(message):
		c.write(rpcError(nil, mcp.INVALID_REQUEST, batchRefused))
	case e.isResponse():
		c.pings.answered(string(e.ID))
	case e.Method == string(mcp.MethodNotificationCancelled):
		c.cancel(e.cancelledID())
	case e.hasID() && e.Method != string(mcp.MethodInitialize):
		c.start(ctx, e, message)
	default: // initialize in turn, so that what follows finds a session
		c.answer(c.handle(ctx, e.ID, message))
	}
}

func (c *conn) start(ctx context.Context, e envelope, message []byte) {
	id := e.ID
	ctx, cancel := context.WithCancel(ctx)
	call := &inflight{cancel: cancel}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing:
		cancel()
		go c.write(unavailable(id, e.Method, e.version() != "", errEnding))
	case len(c.calls) >= maxInFlight:
		cancel()
		go c.write(rpcError(id, mcp.INTERNAL_ERROR, "too many requests at once"))
	default:
		c.calls[string(id)] = call
		c.running.Go(func() { c.run(ctx, e, call, message) })
	}
}

func (c *conn) run(ctx context.Context, e envelope, call *inflight, message []byte) {
	defer call.cancel()
	id := e.ID
	var spoke spoken
	response := c.handle(WithNotifier(ctx, func(_ context.Context, method string, params map[string]any) error {
		c.write(Notification(method, params))
		spoke.now()
		return nil
	}), id, message)
	c.pingsFor(e).settle(ctx, &spoke, c.listener(), func(ping any) error { c.write(ping); return nil })
	c.mu.Lock()
	if c.calls[string(id)] == call {
		delete(c.calls, string(id))
	}
	unwanted := call.cancelled
	c.mu.Unlock()
	if !unwanted {
		c.answer(response)
	}
}

func (c *conn) listener() listener {
	c.mu.Lock()
	defer c.mu.Unlock()
	return listener{len(c.calls), c.unread}
}

// pingsFor is nil for a request that stands alone.
func (c *conn) pingsFor(e envelope) *pings {
	if e.version() != "" {
		return nil
	}
	return &c.pings
}

// cancel ends a request on the client's word. That it is unknown is normal: the
// answer may be on its way.
func (c *conn) cancel(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.calls[id]; call != nil {
		call.cancelled = true
		call.cancel()
	}
}

// handle is mcp-go's part. Tools catch their own panics.
func (c *conn) handle(ctx context.Context, id json.RawMessage, message []byte) (response mcp.JSONRPCMessage) {
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("handle message", "panic", r)
			if response = nil; id != nil {
				response = rpcError(id, mcp.INTERNAL_ERROR, "internal error")
			}
		}
	}()
	ctx, message, x := beginExchange(ctx, id, message)
	response = c.srv.HandleMessage(ctx, message)
	if response == nil || !x.mends() {
		return response
	}
	b, err := json.Marshal(response)
	if err != nil {
		return rpcError(id, mcp.INTERNAL_ERROR, "internal error")
	}
	return json.RawMessage(x.mend(b))
}

// answer writes a response. What mcp-go has put on the session's channel belongs
// before it: the acknowledgement of a subscription is all there ever is.
func (c *conn) answer(response mcp.JSONRPCMessage) {
	for {
		select {
		case n := <-c.session.ClientNotifications():
			c.write(n)
			continue
		default:
		}
		break
	}
	if response != nil {
		c.write(response)
	}
}

// stop takes no more requests; done is closed when the last one has been
// answered.
func (c *conn) stop() (done <-chan struct{}) {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	idle := make(chan struct{})
	go func() { c.running.Wait(); close(idle) }()
	return idle
}

// finish lets calls end by themselves for a moment, then cancels them. It does
// not wait for ever: a client that has stopped reading must not keep it.
func (c *conn) finish(broken <-chan struct{}, grace time.Duration, cancel func()) {
	done := c.stop()
	select {
	case <-done:
		return
	case <-broken:
	case <-time.After(grace):
	}
	cancel()
	select {
	case <-done:
	case <-time.After(cancelTime):
		c.log.Warn("calls did not end in time")
	}
}
