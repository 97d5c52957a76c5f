package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestHTTPMCP: MCP over HTTP, as clients and networks treat it.
func TestHTTPMCP(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.Streamable)
	runCases(t, s.create(), []testCase[*sandbox]{
		{"N3 dropped connections kill", droppedConnections},
		{"N3 an ended session kills", endedSession},
		{"N6 long calls over both", longCallsOverHTTP},
		{"N8 sessions", sessions},
		{"N9 results are bounded", boundedResults},
		{"N12 what is an error", whatIsAnError},
	})
	t.Run("every version", func(t *testing.T) { everyVersion(s.in(t)) })
}

// post sends one message of the protocol with sessions.
func (s *server) post(c context.Context, session string, message args) *http.Response {
	s.t.Helper()
	text, err := json.Marshal(message.with(args{"jsonrpc": "2.0"}))
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := s.Request(c, "POST", "/mcp", strings.NewReader(string(text)))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// status is what a message is answered with.
func (s *server) status(session string, message args) int {
	s.t.Helper()
	resp := s.post(ctx(s.t), session, message)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode
}

// session begins one and returns its ID.
func (s *server) session() string {
	s.t.Helper()
	resp := s.post(ctx(s.t), "", args{"id": 1, "method": "initialize", "params": args{
		"protocolVersion": "2025-11-25", "capabilities": args{}, "clientInfo": args{"name": "raw", "version": "1"},
	}})
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != 200 || id == "" {
		s.t.Fatalf("initialize: %d, session %q", resp.StatusCode, id)
	}
	if status := s.status(id, args{"method": "notifications/initialized"}); status != 202 {
		s.t.Errorf("initialized: %d", status)
	}
	return id
}

// execCall is a tool call that says something as soon as it runs.
func (b *sandbox) execCall(id int, command string) args {
	return args{"id": id, "method": "tools/call", "params": args{
		"name": "exec", "arguments": args{"sandbox_id": b.ID, "command": command, "timeout_seconds": 100}, "_meta": args{"progressToken": id},
	}}
}

// begun posts a call and returns once it has said that it runs.
func (b *sandbox) begun(c context.Context, session string, id int) *http.Response {
	b.t.Helper()
	resp := b.post(c, session, b.execCall(id, "echo begun; "+tick))
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "begun") {
			return resp
		}
	}
	b.t.Fatalf("the call ended with %d, %v", resp.StatusCode, lines.Err())
	return nil
}

// goroutines are the server's, from its metrics.
func (s *server) goroutines() (n int) {
	s.t.Helper()
	req, err := s.Request(ctx(s.t), "GET", "/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	_, rest, _ := strings.Cut(string(text), "\ngo_goroutines ")
	if fmt.Sscan(rest, &n); n == 0 {
		s.t.Fatalf("no number of goroutines in %.300s", text)
	}
	return n
}

func droppedConnections(b *sandbox) {
	session := b.session()
	drop := func(i int) {
		c, cancel := context.WithCancel(ctx(b.t))
		resp := b.begun(c, session, i)
		cancel()
		resp.Body.Close()
	}
	drop(0)
	stopped(b)
	files, routines := openFiles(b.server), b.goroutines()
	for i := range count(20, 100) {
		drop(i + 1)
	}
	stopped(b)
	eventually(b.t, 10*time.Second, "as many open files and goroutines as before", func() (bool, any) {
		f, r := openFiles(b.server), b.goroutines()
		return f <= files+5 && r <= routines+10, fmt.Sprintf("%d and %d, before %d and %d", f, r, files, routines)
	})
	if status := b.status(session, args{"id": 99, "method": "ping"}); status != 200 {
		b.t.Errorf("the session is answered with %d", status)
	}
	b.must("rm -f tick")
}

func endedSession(b *sandbox) {
	session := b.session()
	resp := b.begun(ctx(b.t), session, 1)
	req, err := b.Request(ctx(b.t), "DELETE", "/mcp", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", session)
	if r := b.send(req); r.status >= 300 {
		b.t.Errorf("DELETE: %d %s", r.status, r.body)
	}
	took(b.t, 5*time.Second, "the end of its call", func() { io.Copy(io.Discard, resp.Body) })
	resp.Body.Close()
	stopped(b)
	if status := b.status(session, args{"id": 2, "method": "ping"}); status != 404 {
		b.t.Errorf("afterwards the session is answered with %d", status)
	}
	b.must("rm -f tick")
}

func longCallsOverHTTP(b *sandbox) {
	for _, door := range []client.Door{client.Streamable, client.SSE} {
		c, err := b.Dial(ctx(b.t), door, aliceKey)
		if err != nil {
			b.t.Fatal(err)
		}
		var r schemas.ExecResult
		err = c.Call(ctx(b.t), "exec", args{"sandbox_id": b.ID, "command": fmt.Sprintf("sleep %d; echo ok", count(3, 8))}, &r)
		if err != nil || r.Stdout != "ok\n" {
			b.t.Errorf("%s: %+v, %v", door, r, err)
		}
		var made schemas.Sandbox
		check(b.t, c.Call(ctx(b.t), "sandbox_create", args{}, &made))
		check(b.t, c.Call(ctx(b.t), "snapshot", args{"sandbox_id": made.ID}, nil))
		check(b.t, c.Call(ctx(b.t), "sandbox_destroy", args{"sandbox_id": made.ID}, nil))
		c.MCP.Close()
	}
}

func sessions(b *sandbox) {
	one, two := b.session(), b.session()
	if one == two {
		b.t.Error("two sessions have one ID")
	}
	ping := args{"id": 7, "method": "tools/list"}
	for what, c := range map[string]struct {
		session string
		want    int
	}{"none": {"", 400}, "unknown": {"nonsense", 404}, "one": {one, 200}, "two": {two, 200}} {
		if got := b.status(c.session, ping); got != c.want {
			b.t.Errorf("session %s: %d, want %d", what, got, c.want)
		}
	}
	if got := b.as(bobKey).status(one, ping); got != 404 {
		b.t.Errorf("another's session: %d", got)
	}
	// A cancel in one session does not touch the same ID in the other.
	calls := []*http.Response{b.post(ctx(b.t), one, b.execCall(5, "echo begun; until [ -e go ]; do sleep 0.05; done; echo done")), b.begun(ctx(b.t), two, 5)}
	b.status(two, args{"method": "notifications/cancelled", "params": args{"requestId": 5}})
	took(b.t, 5*time.Second, "the end of the cancelled call", func() { io.Copy(io.Discard, calls[1].Body) })
	b.must("touch go")
	if text, err := io.ReadAll(calls[0].Body); err != nil || !strings.Contains(string(text), "done") {
		b.t.Errorf("the other call: %s, %v", text, err)
	}
	b.must("rm -f go tick")
	b.restart()
	if got := b.status(one, ping); got != 404 {
		b.t.Errorf("after a restart: %d", got)
	}
	if got := b.status(b.session(), ping); got != 200 {
		b.t.Errorf("a new session after a restart: %d", got)
	}
	b.alive()
}

func everyVersion(s *server) {
	for door, versions := range map[client.Door][]string{
		client.Streamable: {"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"},
		client.SSE:        {"2025-11-25", "2024-11-05"},
	} {
		for _, version := range versions {
			c, err := s.Dial(ctx(s.t), door, aliceKey, mcpclient.WithProtocolVersion(version))
			if err != nil {
				s.t.Errorf("%s, %s: %v", door, version, err)
				continue
			}
			if got := c.MCP.ProtocolVersion(); got != version {
				s.t.Errorf("%s, %s: the server speaks %s", door, version, got)
			}
			var list schemas.SandboxList
			if err := c.Call(ctx(s.t), "sandbox_list", args{}, &list); err != nil || len(list.Sandboxes) != 1 {
				s.t.Errorf("%s, %s: %+v, %v", door, version, list, err)
			}
			c.MCP.Close()
		}
	}
}
