package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// tty is a client of a terminal.
type tty struct {
	t    *testing.T
	conn *websocket.Conn
	exec string
}

// message is what the server says in text frames.
type message struct {
	Type   string
	ExecID string `json:"exec_id"`
	Error  schemas.Error
	schemas.ExecExit
}

func (d *door) terminal(t *testing.T, at, query string) *tty {
	t.Helper()
	conn, resp, err := websocket.Dial(t.Context(), d.url+at+"/terminal?"+query, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + aliceKey}},
	})
	if err != nil {
		t.Fatalf("dial: %v (%v)", err, resp)
	}
	t.Cleanup(func() { conn.CloseNow() })
	c := &tty{t: t, conn: conn}
	started := c.message()
	if started.Type != "started" || schemas.ExecID(started.ExecID).Validate() != nil {
		t.Fatalf("the first message is %+v", started)
	}
	c.exec = started.ExecID
	return c
}

// read gives bytes, or a message.
func (c *tty) read() (string, *message) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	kind, data, err := c.conn.Read(ctx)
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	if kind == websocket.MessageBinary {
		return string(data), nil
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		c.t.Fatalf("message %s: %v", data, err)
	}
	return "", &m
}

func (c *tty) message() message {
	c.t.Helper()
	text, m := c.read()
	if m == nil {
		c.t.Fatalf("got %q, want a message", text)
	}
	return *m
}

// until reads output until it has the text, and returns all of it.
func (c *tty) until(text string) (seen string) {
	c.t.Helper()
	for !strings.Contains(seen, text) {
		chunk, m := c.read()
		if m != nil {
			c.t.Fatalf("message %+v after %q; want %q", *m, seen, text)
		}
		seen += chunk
	}
	return seen
}

func (c *tty) typed(text string) { c.write(websocket.MessageBinary, text) }

func (c *tty) write(kind websocket.MessageType, text string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), kind, []byte(text)); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// closed is the status that the server ends the connection with.
func (c *tty) closed() websocket.StatusCode {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	for {
		_, _, err := c.conn.Read(ctx)
		if err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

const echoLoop = "command=while+read+x%3B+do+echo+got+%24x%3B+done"

func TestTerminal(t *testing.T) {
	d := start(t)
	at := d.create()
	c := d.terminal(t, at, echoLoop+"&columns=100&rows=30")
	c.typed("one\n")
	c.until("got one\n")
	c.write(websocket.MessageText, `{"type":"resize","columns":120,"rows":40}`)
	c.typed("two\n")
	c.until("got two\n")

	other := d.terminal(t, at, "exec_id="+c.exec)
	other.until("got two\n")
	other.typed("three\n")
	other.until("got three\n")
	c.until("got three\n")

	c.conn.CloseNow() // it vanishes; the command goes on
	again := d.terminal(t, at, "exec_id="+c.exec)
	again.until("got three\n")
	d.do("DELETE", at+"/execs/"+c.exec, nil)
	for _, c := range []*tty{again, other} {
		m := c.message()
		if m.Type != "exit" || m.ExitCode != 137 || m.Signal == nil || *m.Signal != "SIGKILL" {
			t.Errorf("the end is %+v", m)
		}
		if got := c.closed(); got != websocket.StatusNormalClosure {
			t.Errorf("closed with %d", got)
		}
	}
}

func TestTerminalExit(t *testing.T) {
	d := start(t)
	at := d.create()
	c := d.terminal(t, at, "command=echo+hi%3B+exit+3")
	c.until("hi\n")
	if m := c.message(); m.Type != "exit" || m.ExitCode != 3 {
		t.Errorf("the end is %+v", m)
	}
	late := d.terminal(t, at, "exec_id="+c.exec) // its output and end are kept
	late.until("hi\n")
	if m := late.message(); m.Type != "exit" || m.ExitCode != 3 {
		t.Errorf("the end, once more, is %+v", m)
	}
}

// What ends an exec ends a terminal, with the same error.
func TestTerminalUnderRollbackAndDestroy(t *testing.T) {
	d := start(t)
	at := d.create()
	id := schemas.SandboxID(strings.TrimPrefix(at, "/v1/sandboxes/"))
	snap, err := d.manager.Snapshot(t.Context(), "alice", id, schemas.SnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	wantGone := func(c *tty, reason string) {
		t.Helper()
		if m := c.message(); m.Type != "error" || m.Error.Code != schemas.CodeSandboxGone || m.Error.Reason != reason {
			t.Errorf("the end is %+v, want %s", m, reason)
		}
	}
	c := d.terminal(t, at, echoLoop)
	if _, err := d.manager.Rollback(t.Context(), "alice", id, schemas.RollbackRequest{SnapshotID: snap.ID}); err != nil {
		t.Fatal(err)
	}
	wantGone(c, manager.ReasonRolledBack)
	c = d.terminal(t, at, echoLoop)
	d.do("DELETE", at, nil)
	wantGone(c, manager.ReasonDestroyed)
}

func TestTerminalRefuses(t *testing.T) {
	d := start(t)
	at := d.create()
	path := at + "/terminal"
	upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-WebSocket-Version": {"13"}, "Sec-WebSocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"columns=0":                   {400, "columns is 0"},
		"rows=4097":                   {400, "rows is 4097"},
		"rows=x":                      {400, "rows"},
		"columns=80&columns=81":       {400, "columns"},
		"exec_id=1":                   {400, "exec"},
		"exec_id=ex_0123456789abcdef": {404, "ex_0123456789abcdef"},
		"exec_id=ex_0123456789abcdef&command=true": {400, "exec_id"},
		"workdir=/nowhere":                         {400, "nowhere"},
		"shell=x":                                  {400, "shell"},
	} {
		req := d.request("GET", path+"?"+query, nil)
		for name, values := range upgrade {
			req.Header[name] = values
		}
		r := d.send(req)
		var body schemas.ErrorBody
		if err := json.Unmarshal(r.body, &body); err != nil || r.status != want.status || !strings.Contains(body.Error.Message, want.text) {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
	d.do("GET", path, nil).fails(t, 400, schemas.CodeInvalidRequest, "WebSocket")
}

func TestTerminalBadMessages(t *testing.T) {
	d := start(t)
	at := d.create()
	for _, bad := range []string{`{"type":"x"}`, `{`, `{"type":"resize","columns":0,"rows":1}`, `{"type":"resize","columns":1,"rows":1,"x":1}`, ``} {
		c := d.terminal(t, at, echoLoop)
		c.write(websocket.MessageText, bad)
		if got := c.closed(); got != websocket.StatusPolicyViolation {
			t.Errorf("%q: closed with %d", bad, got)
		}
	}
	c := d.terminal(t, at, echoLoop)
	c.write(websocket.MessageBinary, strings.Repeat("x", maxTyped+1))
	if got := c.closed(); got != websocket.StatusMessageTooBig {
		t.Errorf("too much at once: closed with %d", got)
	}
}

// Only what runs in a terminal is one to come back to.
func TestTerminalOfABackgroundExec(t *testing.T) {
	d := start(t)
	at := d.create()
	x := get[schemas.ExecState](d, 202, "POST", at+"/exec", map[string]any{"command": "echo out; echo err >&2; read x", "background": true})
	_, resp, err := websocket.Dial(t.Context(), d.url+at+"/terminal?exec_id="+string(x.ExecID), &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + aliceKey}},
	})
	if err == nil || resp == nil || resp.StatusCode != http.StatusBadRequest {
		t.Fatalf("%v, %+v", err, resp)
	}
	if x := get[schemas.ExecState](d, 200, "GET", at+"/execs/"+string(x.ExecID), nil); x.Status != schemas.ExecRunning {
		t.Errorf("it is %s", x.Status)
	}
}

// One who does not read holds the command up, and loses nothing.
func TestTerminalOfOneWhoStopsReading(t *testing.T) {
	t.Parallel()
	d := start(t, func(s *setup) { s.times.ping = time.Second })
	c := d.terminal(t, d.create(), "command=head+-c+33554432+/dev/zero")
	c.conn.SetReadLimit(-1)
	time.Sleep(7 * time.Second) // a ping gives up when it cannot be sent for five
	var n int
	for {
		chunk, m := c.read()
		if n += len(chunk); m == nil {
			continue
		}
		if m.Type != "exit" || n != 32<<20 {
			t.Errorf("%+v after %d bytes", m, n)
		}
		return
	}
}

// A client that never says that it is there is found gone.
func TestTerminalOfASilentClient(t *testing.T) {
	d := start(t, func(s *setup) { s.times.ping, s.times.patience = 10*time.Millisecond, 300*time.Millisecond })
	at := d.create()
	conn, _, err := websocket.Dial(t.Context(), d.url+at+"/terminal?"+echoLoop, &websocket.DialOptions{
		HTTPHeader:     http.Header{"Authorization": {"Bearer " + aliceKey}},
		OnPingReceived: func(context.Context, []byte) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &tty{t: t, conn: conn}
	c.message()
	if got := c.closed(); got != -1 {
		t.Errorf("closed with %d", got)
	}
	if t.Context().Err() != nil {
		t.Error("it was not closed")
	}
}
