package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	// maxTyped bounds one message from a client.
	maxTyped = 1 << 20
	// lastWords is how long the end of a terminal may take to be told.
	lastWords = 5 * time.Second
)

// openTerminal turns the connection into a WebSocket. What is wrong before is an
// ordinary answer; what goes wrong later is a message, and then the end.
func openTerminal(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	if _, err := c.Get(c.ctx(), c.owner, id); err != nil {
		return err
	}
	req, err := c.terminalRequest()
	if err != nil {
		return err
	}
	if !isUpgrade(c.r) {
		return invalid("", "this route is a WebSocket (RFC 6455, over HTTP/1.1): the request must ask for an upgrade to one")
	}
	// The request's own context does not end when a hijacked connection does.
	ctx, gone := context.WithCancelCause(c.ctx())
	defer gone(nil)
	t, err := c.OpenTerminal(ctx, c.owner, id, req)
	if err != nil {
		return err
	}
	defer t.Close()
	// The Origin was checked already, for all routes alike.
	conn, err := websocket.Accept(c.w, c.r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil //nolint:nilerr // it has answered by itself
	}
	c.w.status = http.StatusSwitchingProtocols
	conn.SetReadLimit(maxTyped)
	s := &terminalSocket{call: c, conn: conn, terminal: t}
	s.serve(ctx, gone)
	return nil
}

func isUpgrade(r *http.Request) bool {
	return r.ProtoMajor == 1 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

func (c *call) terminalRequest() (req schemas.TerminalRequest, err error) {
	req = schemas.TerminalRequest{
		ExecID: schemas.ExecID(c.query.Get("exec_id")), Command: c.query.Get("command"),
		Workdir: c.query.Get("workdir"), Term: c.query.Get("term"), Columns: 80, Rows: 24,
	}
	for name, n := range map[string]*int{"columns": &req.Columns, "rows": &req.Rows} {
		if !c.query.Has(name) {
			continue
		}
		if *n, err = strconv.Atoi(c.query.Get(name)); err != nil {
			return req, invalid(name, "must be a whole number from 1 to 4096")
		}
	}
	if req.ExecID != "" && (req.Command != "" || req.Workdir != "" || req.Term != "") {
		return req, invalid("exec_id", "goes back to a command that runs; command, workdir and term are for a new one")
	}
	return req, nil
}

// terminalSocket is a terminal with its client.
type terminalSocket struct {
	*call
	conn     *websocket.Conn
	terminal *manager.Terminal
}

// serve lasts until the command has ended or the client has gone, which is ctx's
// end.
func (s *terminalSocket) serve(ctx context.Context, gone context.CancelCauseFunc) {
	s.send(ctx, schemas.StartedMessage{Type: "started", ExecID: s.terminal.ID()})
	go func() { gone(s.takeInput(ctx)) }()
	go func() { gone(s.ping(ctx)) }()
	type outcome struct {
		exit schemas.ExecExit
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		exit, err := s.terminal.Follow(func(chunk []byte) error {
			writing, cancel := context.WithTimeout(ctx, s.times.patience)
			defer cancel()
			return s.conn.Write(writing, websocket.MessageBinary, chunk)
		})
		ended <- outcome{exit, err}
	}()
	o := <-ended // soon after ctx, if that ends first
	if o.err != nil && ctx.Err() != nil {
		s.close(context.Cause(ctx))
		return
	}
	s.bye(o.exit, o.err)
}

// bye tells how the command ended, or why that cannot be seen.
func (s *terminalSocket) bye(exit schemas.ExecExit, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx()), lastWords)
	defer cancel()
	if err == nil {
		s.send(ctx, schemas.ExitEvent{Type: "exit", ExecExit: exit})
		_ = s.conn.Close(websocket.StatusNormalClosure, "")
		return
	}
	s.logFailure(s.r, public(err).Code, err)
	s.send(ctx, schemas.ErrorEvent{Type: "error", Error: public(err)})
	_ = s.conn.Close(websocket.StatusInternalError, string(public(err).Code))
}

func (s *terminalSocket) close(why error) {
	if bad := (*badMessage)(nil); errors.As(why, &bad) {
		_ = s.conn.Close(websocket.StatusPolicyViolation, bad.text)
		return
	}
	_ = s.conn.CloseNow()
}

func (s *terminalSocket) send(ctx context.Context, message any) {
	if text, err := encode(message); err == nil {
		_ = s.conn.Write(ctx, websocket.MessageText, text) // who cannot hear it is found gone by reading
	}
}

// badMessage is a message that a client should not have sent.
type badMessage struct{ text string }

func (e *badMessage) Error() string { return e.text }

// takeInput passes on what is typed. Its error is why it ended.
func (s *terminalSocket) takeInput(ctx context.Context) error {
	for {
		kind, data, err := s.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read from client: %w", err)
		}
		if kind == websocket.MessageBinary {
			_, err = s.terminal.Write(data)
		} else {
			err = s.control(data)
		}
		// A command that has ended takes nothing more, which its end will tell.
		if err != nil && manager.KindOf(err) != manager.KindConflict && manager.KindOf(err) != manager.KindLost {
			return err
		}
	}
}

func (s *terminalSocket) control(data []byte) error {
	var m schemas.ResizeMessage
	if err := schemas.Decode(data, &m); err != nil {
		return &badMessage{"a text message must be a JSON object of a type that is known: resize"}
	}
	if m.Type != "resize" {
		return &badMessage{"the type of a text message must be resize"}
	}
	err := s.terminal.Resize(m.Columns, m.Rows)
	if manager.KindOf(err) == manager.KindInvalid && err != nil {
		return &badMessage{"columns and rows must be 1 to 4096"}
	}
	return err
}

// ping finds out that a client is gone which did not say so. Its answer may be far
// behind what it was sent, and what it typed: it has as long as a transfer has.
func (s *terminalSocket) ping(ctx context.Context) error {
	tick := time.NewTicker(s.times.ping)
	defer tick.Stop()
	answered := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		waiting, cancel := context.WithTimeout(ctx, s.times.patience)
		err := s.conn.Ping(waiting)
		cancel()
		switch {
		case err == nil:
			answered = time.Now()
		// It cannot even be asked while output waits for it, which is no sign yet.
		case !errors.Is(err, context.DeadlineExceeded) || time.Since(answered) > s.times.patience:
			return fmt.Errorf("ping client: %w", err)
		}
	}
}
