package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
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
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	broken := make(chan struct{})
	w := &lineWriter{w: out, failed: func() { close(broken) }}
	s := &stdio{
		srv: srv, log: log, out: w,
		session: server.NewInProcessSession("stdio", nil),
		calls:   map[string]*inflight{},
	}
	base = srv.WithContext(base, s.session)
	base = WithOwner(WithNotifier(base, lineNotifier(w)), manager.DefaultOwner)

	end := make(chan error, 1)
	go func() { end <- s.read(base, in) }()
	var err error
	select {
	case err = <-end:
	case <-broken:
		err = fmt.Errorf("write: %w", w.broken())
	case <-ctx.Done():
	}
	s.finish(broken, cancel)
	return err
}

// stdio is one client's connection.
type stdio struct {
	srv     *server.MCPServer
	session *server.InProcessSession
	log     *slog.Logger
	out     io.Writer

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

// envelope is what has to be known of a message to pass it on.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (e envelope) hasID() bool { return len(e.ID) > 0 && string(e.ID) != "null" }

// isResponse: to a request of the server's; but this one makes none.
func (e envelope) isResponse() bool { return e.Method == "" && (e.Result != nil || e.Error != nil) }

func (s *stdio) read(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r, maxLine)
		switch {
		case errors.Is(err, errLineTooLong):
			s.write(rpcError(nil, mcp.PARSE_ERROR, fmt.Sprintf("message is longer than %d bytes", maxLine)))
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case len(bytes.TrimSpace(line)) > 0:
			s.dispatch(ctx, line)
		}
	}
}

// dispatch never blocks: a cancel may be in the next line.
func (s *stdio) dispatch(ctx context.Context, line []byte) {
	var e envelope
	_ = json.Unmarshal(line, &e) // what is wrong with it mcp-go will say
	switch {
	case e.isResponse():
	case e.Method == string(mcp.MethodNotificationCancelled):
		s.cancel(string(e.Params.RequestID))
	case e.hasID() && e.Method != string(mcp.MethodInitialize):
		s.start(ctx, e.ID, line)
	default: // initialize in turn, so that what follows finds a session
		s.answer(s.handle(ctx, e.ID, line))
	}
}

func (s *stdio) start(ctx context.Context, id json.RawMessage, line []byte) {
	ctx, cancel := context.WithCancel(ctx)
	call := &inflight{cancel: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		cancel()
	case len(s.calls) >= maxInFlight:
		cancel()
		go s.write(rpcError(id, mcp.INTERNAL_ERROR, "too many requests at once"))
	default:
		s.calls[string(id)] = call
		s.running.Go(func() { s.run(ctx, id, call, line) })
	}
}

func (s *stdio) run(ctx context.Context, id json.RawMessage, call *inflight, line []byte) {
	defer call.cancel()
	response := s.handle(ctx, id, line)
	s.mu.Lock()
	if s.calls[string(id)] == call {
		delete(s.calls, string(id))
	}
	unwanted := call.cancelled
	s.mu.Unlock()
	if !unwanted {
		s.answer(response)
	}
}

// cancel ends a request on the client's word. That it is unknown is normal: the
// answer may be on its way.
func (s *stdio) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call := s.calls[id]; call != nil {
		call.cancelled = true
		call.cancel()
	}
}

// handle is mcp-go's part. Tools catch their own panics.
func (s *stdio) handle(ctx context.Context, id json.RawMessage, line []byte) (response mcp.JSONRPCMessage) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("handle message", "panic", r)
			if response = nil; id != nil {
				response = rpcError(id, mcp.INTERNAL_ERROR, "internal error")
			}
		}
	}()
	return s.srv.HandleMessage(ctx, line)
}

// answer writes a response. What mcp-go has put on the session's channel belongs
// before it: the acknowledgement of a subscription is all there ever is.
func (s *stdio) answer(response mcp.JSONRPCMessage) {
	for {
		select {
		case n := <-s.session.ClientNotifications():
			s.write(n)
			continue
		default:
		}
		break
	}
	if response != nil {
		s.write(response)
	}
}

func rpcError(id json.RawMessage, code int, message string) mcp.JSONRPCError {
	e := mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(code, message, nil)}
	if id != nil {
		e.ID = mcp.NewRequestId(id)
	}
	return e
}

func (s *stdio) write(message any) {
	b, err := json.Marshal(message)
	if err != nil {
		s.log.Error("encode message", "error", err)
		return
	}
	_, _ = s.out.Write(append(b, '\n')) // the writer remembers a failure
}

// finish lets calls end by themselves for a moment, then cancels them. It does
// not wait for ever: a client that has stopped reading must not keep it.
func (s *stdio) finish(broken <-chan struct{}, cancel func()) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-broken:
	case <-time.After(drainTime):
	}
	cancel()
	select {
	case <-done:
	case <-time.After(cancelTime):
		s.log.Warn("calls did not end in time")
	}
}
