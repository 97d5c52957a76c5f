package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// tty is a client of a sandbox's terminal.
type tty struct {
	*sandbox
	conn *websocket.Conn
	exec string
	seen strings.Builder
}

// ending is the last message of a terminal.
type ending struct {
	Type   string
	ExecID string `json:"exec_id"`
	Error  schemas.Error
	schemas.ExecExit
}

func (b *sandbox) terminal(query string) *tty {
	b.t.Helper()
	conn, resp, err := websocket.Dial(ctx(b.t), b.URL+"/v1/sandboxes/"+string(b.ID)+"/terminal?"+query, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + aliceKey}},
	})
	if err != nil {
		b.t.Fatalf("open a terminal: %v (%v)", err, resp)
	}
	conn.SetReadLimit(8 << 20)
	b.t.Cleanup(func() { conn.CloseNow() })
	c := &tty{sandbox: b, conn: conn}
	if m := c.next(); m == nil || m.Type != "started" {
		b.t.Fatalf("the first message is %+v", m)
	} else {
		c.exec = m.ExecID
	}
	return c
}

// next takes a message: output goes to seen, and all else is returned.
func (c *tty) next() *ending {
	c.t.Helper()
	limited, cancel := context.WithTimeout(ctx(c.t), time.Minute)
	defer cancel()
	kind, data, err := c.conn.Read(limited)
	if err != nil {
		c.t.Fatalf("read: %v; seen %.2000q", err, tail(c.seen.String()))
	}
	if kind == websocket.MessageBinary {
		c.seen.Write(data)
		return nil
	}
	var m ending
	if err := json.Unmarshal(data, &m); err != nil {
		c.t.Fatalf("message %s: %v", data, err)
	}
	return &m
}

// until reads until a text is seen, and forgets what came up to its end.
func (c *tty) until(text string) {
	c.t.Helper()
	for !strings.Contains(c.seen.String(), text) {
		if m := c.next(); m != nil {
			c.t.Fatalf("%+v before %q; seen %.2000q", *m, text, c.seen.String())
		}
	}
	_, rest, _ := strings.Cut(c.seen.String(), text)
	c.seen.Reset()
	c.seen.WriteString(rest)
}

func (c *tty) end() ending {
	c.t.Helper()
	for {
		if m := c.next(); m != nil {
			return *m
		}
	}
}

func (c *tty) typed(text string) { c.send(websocket.MessageBinary, text) }

func (c *tty) resize(columns, rows int) {
	c.send(websocket.MessageText, fmt.Sprintf(`{"type":"resize","columns":%d,"rows":%d}`, columns, rows))
}

func (c *tty) send(kind websocket.MessageType, text string) {
	c.t.Helper()
	if err := c.conn.Write(ctx(c.t), kind, []byte(text)); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST)
	runCases(t, s.create(args{"image": base}), []testCase[*sandbox]{
		{"a shell", terminalShell},
		{"keys that interrupt", terminalInterrupts},
		{"the window's size", terminalSizes},
		{"a large paste, and characters in pieces", terminalPaste},
		{"a client that vanishes", terminalVanish},
	})
	terminalOutlivesServer(s.create())
}

func terminalShell(b *sandbox) {
	c := b.terminal("columns=100&rows=30")
	c.typed("tty; stty size; echo $TERM; echo over-$((40+2))\r")
	c.until("/dev/pts/")
	c.until("30 100")
	c.until("xterm-256color")
	c.until("over-42")
	c.typed("exit 7\r")
	if m := c.end(); m.Type != "exit" || m.ExitCode != 7 {
		b.t.Errorf("the end is %+v", m)
	}
}

func terminalInterrupts(b *sandbox) {
	c := b.terminal("command=" + url.QueryEscape("trap : INT; while :; do sleep 100; echo interrupted; done"))
	eventually(b.t, 20*time.Second, "sleep runs", func() (bool, any) {
		r := b.sh("pgrep -f '^sleep 100'")
		return r.ExitCode == 0, r
	})
	c.typed("\x03")
	c.until("interrupted")
	for _, signal := range []string{"TERM", "KILL"} {
		req, err := b.Request(ctx(b.t), "POST", "/v1/sandboxes/"+string(b.ID)+"/execs/"+c.exec+"/signal", strings.NewReader(`{"signal":"`+signal+`"}`))
		if err != nil {
			b.t.Fatal(err)
		}
		if r := b.server.send(req); r.status != 204 && r.status != 409 {
			b.t.Errorf("signal %s: %d %s", signal, r.status, r.body)
		}
	}
	if m := c.end(); m.Type != "exit" || m.Signal == nil {
		b.t.Errorf("the end is %+v", m)
	}
}

func terminalSizes(b *sandbox) {
	c := b.terminal("command=" + url.QueryEscape("trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done"))
	c.until("ready")
	for i := range 300 {
		c.resize(80+i%50, 24+i%20)
	}
	c.resize(123, 45)
	c.until("45 123")
	c.conn.CloseNow()
	b.killExec(c.exec)
}

func terminalPaste(b *sandbox) {
	c := b.terminal("command=" + url.QueryEscape("stty raw -echo; echo ready; head -c 1000000 | md5sum; head -c 3 | od -An -tx1"))
	c.until("ready")
	paste := strings.Repeat("0123456789", 100_000)
	for i := 0; i < len(paste); i += 50_000 {
		c.typed(paste[i : i+50_000])
	}
	c.until("174ac9a4f023a557a68ab0417355970e")
	for _, part := range []string{"\xe2", "\x82", "\xac"} { // one character
		c.typed(part)
	}
	c.until("e2 82 ac")
	if m := c.end(); m.Type != "exit" || m.ExitCode != 0 {
		b.t.Errorf("the end is %+v", m)
	}
}

func terminalVanish(b *sandbox) {
	c := b.terminal("command=" + url.QueryEscape("i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.1; done"))
	c.until("tick 3\r\n")
	c.conn.CloseNow()
	again, third := b.terminal("exec_id="+c.exec), b.terminal("exec_id="+c.exec)
	again.until("tick 3\r\n") // what was shown before
	again.until("tick 8\r\n")
	third.until("tick 8\r\n")
	b.killExec(c.exec)
	for _, c := range []*tty{again, third} {
		if m := c.end(); m.Type != "exit" || m.ExitCode != 137 {
			b.t.Errorf("the end is %+v", m)
		}
	}
}

func (b *sandbox) killExec(exec string) {
	b.t.Helper()
	if r := b.do("DELETE", "/v1/sandboxes/"+string(b.ID)+"/execs/"+exec, nil); r.status != 204 {
		b.t.Errorf("kill %s: %d %s", exec, r.status, r.body)
	}
}

// terminalOutlivesServer: the command is the sandbox's, not the server's.
func terminalOutlivesServer(b *sandbox) {
	c := b.terminal("command=" + url.QueryEscape("echo before; read x; echo after $x; exit 5"))
	c.until("before")
	b.restart()
	again := b.terminal("exec_id=" + c.exec)
	again.until("before")
	again.typed("the crash\r")
	again.until("after the crash")
	if m := again.end(); m.Type != "exit" || m.ExitCode != 5 {
		b.t.Errorf("the end is %+v", m)
	}
}
