package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	maxFrame = 8 << 20
	// A connection that is dead is found out by asking for a sign of life.
	terminalPing = 20 * time.Second
)

// Terminal is a command on a terminal in a sandbox. It goes on when its connection
// is closed. Write and Resize may be called while Follow reads.
type Terminal struct {
	ID   schemas.ExecID
	c    *Client
	conn *websocket.Conn

	every time.Duration // between pings, and how long an answer may take
	busy  atomic.Int64  // showing, or sending: what is behind that waits
	heard atomic.Int64  // messages
}

// ErrLost is the cause of the errors that say that a terminal's connection has
// gone, while its command goes on.
var ErrLost = errors.New("the connection was lost")

// OpenTerminal starts a command on a terminal, or goes back to one.
func (c *Client) OpenTerminal(ctx context.Context, id schemas.SandboxID, r schemas.TerminalRequest) (*Terminal, error) {
	u := *c.base
	u.Path += sandboxPath(id, "/terminal")
	query := url.Values{"columns": {strconv.Itoa(r.Columns)}, "rows": {strconv.Itoa(r.Rows)}}
	for name, value := range map[string]string{"exec_id": string(r.ExecID), "command": r.Command, "workdir": r.Workdir, "term": r.Term} {
		if value != "" {
			query.Set(name, value)
		}
	}
	u.RawQuery = query.Encode()
	header := http.Header{}
	if c.key != "" {
		header.Set("Authorization", "Bearer "+c.key)
	}
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: onlyHTTP1(c.http.Transport), CheckRedirect: c.http.CheckRedirect},
		HTTPHeader: header, CompressionMode: websocket.CompressionDisabled,
	})
	switch {
	case err != nil && resp != nil && resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, refused(resp)
	case err != nil:
		return nil, c.unreachable(ctx, http.MethodPost, err)
	}
	conn.SetReadLimit(maxFrame)
	t := &Terminal{c: c, conn: conn, every: terminalPing}
	if err := t.begin(ctx); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// onlyHTTP1 is a transport without HTTP/2, which knows no upgrades.
func onlyHTTP1(from http.RoundTripper) http.RoundTripper {
	t, ok := from.(*http.Transport)
	if !ok {
		return from
	}
	t = t.Clone()
	t.ForceAttemptHTTP2, t.HTTP2 = false, nil
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil
	}
	return t
}

// begin reads what comes first.
func (t *Terminal) begin(ctx context.Context) error {
	kind, data, err := t.conn.Read(ctx)
	if err != nil {
		return t.lost(ctx, err)
	}
	var started schemas.StartedMessage
	if kind != websocket.MessageText || json.Unmarshal(data, &started) != nil || started.ExecID == "" {
		return strange("the terminal does not begin as it should")
	}
	t.ID = started.ExecID
	return nil
}

// Follow hands over what the terminal shows until its command has ended.
func (t *Terminal) Follow(ctx context.Context, show func([]byte) error) (schemas.ExecExit, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go t.ping(ctx, cancel)
	for {
		kind, data, err := t.conn.Read(ctx)
		if err != nil {
			return schemas.ExecExit{}, t.lost(ctx, err)
		}
		t.heard.Add(1)
		if kind == websocket.MessageBinary {
			t.busy.Add(1)
			err := show(data)
			t.busy.Add(-1)
			if err != nil {
				return schemas.ExecExit{}, err
			}
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return schemas.ExecExit{}, strange("the terminal sends a message that is not what it should be: " + err.Error())
		}
		switch e.Type {
		case "exit":
			return e.ExecExit, nil
		case "error":
			return schemas.ExecExit{}, &Error{Body: e.Error, Status: http.StatusOK}
		}
	}
}

func (t *Terminal) ping(ctx context.Context, lost context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.every):
		}
		heard := t.heard.Load()
		waiting, cancel := context.WithTimeout(ctx, t.every)
		err := t.conn.Ping(waiting)
		cancel()
		// The answer comes behind all that is shown first.
		late := errors.Is(err, context.DeadlineExceeded) && (t.busy.Load() > 0 || t.heard.Load() > heard)
		if err != nil && !late && ctx.Err() == nil {
			lost(ErrLost)
		}
	}
}

// lost is a connection that has gone before the command has.
func (t *Terminal) lost(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && cause != ErrLost {
		return cause
	}
	return &Error{Cause: ErrLost, Body: schemas.Error{
		Code: schemas.CodeBackendUnavailable, Retryable: true,
		Message: "the connection to " + t.c.Name + " was lost: " + oneLine(err),
	}}
}

// Write types.
func (t *Terminal) Write(ctx context.Context, b []byte) error {
	t.busy.Add(1)
	defer t.busy.Add(-1)
	return t.conn.Write(ctx, websocket.MessageBinary, b)
}

// Resize tells the size of the window.
func (t *Terminal) Resize(ctx context.Context, columns, rows int) error {
	b, err := json.Marshal(schemas.ResizeMessage{Type: "resize", Columns: columns, Rows: rows})
	if err != nil {
		return err
	}
	return t.conn.Write(ctx, websocket.MessageText, b)
}

// Close leaves the terminal.
func (t *Terminal) Close() { _ = t.conn.CloseNow() }
