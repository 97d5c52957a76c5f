package tools

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func TestN8Sessions(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, newBench(t).srv)
	p := s.join("")
	list := args{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
	check := func(what string, p *peer, method string, body any, want int) {
		t.Helper()
		r := p.request(t.Context(), body)
		r.Method = method
		if got, _ := p.status(r); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	with := func(session, owner string) *peer {
		return &peer{site: s, owner: owner, session: session, version: mcp.ProtocolVersion20251125}
	}
	check("own", p, "POST", list, 200)
	check("none", with("", ""), "POST", list, 400)
	check("invented", with("mcp-session-invented", ""), "POST", list, 404)
	check("another owner's", with(p.session, "other"), "POST", list, 404)
	check("another owner's notification", with(p.session, "other"), "POST", args{"jsonrpc": "2.0", "method": "notifications/cancelled"}, 404)
	check("DELETE without", with("", ""), "DELETE", "", 400)
	check("DELETE of an invented one", with("invented", ""), "DELETE", "", 404)
	check("DELETE of another owner's", with(p.session, "other"), "DELETE", "", 404)
	check("GET", p, "GET", "", 405)
	check("GET of an invented one", with("invented", ""), "GET", "", 405)
	check("PUT", p, "PUT", "", 405)
	check("still there", p, "POST", list, 200)
	if n := len(s.http.sessions.all); n != 1 {
		t.Errorf("%d sessions", n)
	}
	check("DELETE", p, "DELETE", "", 204)
	check("ended", p, "POST", list, 404)
	check("anew", s.join(""), "POST", list, 200)
	check("modern ones ignore it", &peer{site: s, session: "invented", version: mcp.ProtocolVersion20260728},
		"POST", (&peer{version: mcp.ProtocolVersion20260728}).toolCall(1, "sandbox_list", args{}, nil), 200)
}

func TestN8SSESessions(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, newBench(t).srv)
	c := dialSSE(t.Context(), s, http.DefaultTransport)
	ping := args{"jsonrpc": "2.0", "id": 1, "method": "ping"}
	if got := c.send(ping); got != 202 {
		t.Errorf("own: %d", got)
	}
	for endpoint, want := range map[string]int{MessagePath: 400, MessagePath + "?sessionId=": 400, MessagePath + "?sessionId=x": 404} {
		if got := (&sseClient{site: s, endpoint: endpoint}).send(ping); got != want {
			t.Errorf("%s: %d, want %d", endpoint, got, want)
		}
	}
	if got := (&sseClient{site: s, endpoint: c.endpoint, owner: "other"}).send(ping); got != 404 {
		t.Errorf("another owner's: %d", got)
	}
	r, err := http.Post(s.url+"/sse", "application/json", strings.NewReader("{}"))
	if err != nil || r.StatusCode != 405 {
		t.Errorf("POST of the stream: %v, %v", r, err)
	}
	r.Body.Close()
}

func TestSessionsAreBoundedAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions(time.Hour, 3)
		busy := s.begin("a")
		_, leave := s.enter(t.Context(), busy, "1")
		other := s.begin("b")
		var own []*session
		for range 4 {
			time.Sleep(time.Second)
			own = append(own, s.begin("a"))
		}
		want := map[*session]bool{busy: true, other: true, own[0]: false, own[1]: false, own[2]: true, own[3]: true}
		for x, there := range want {
			if _, ok := s.find(x.owner, x.id); ok != there {
				t.Errorf("%v: %v", x.owner, ok)
			}
		}
		time.Sleep(59 * time.Minute)
		s.find("a", own[3].id)
		time.Sleep(2 * time.Minute)
		s.begin("c")
		if len(s.all) != 3 { // busy, own[3] and the new one
			t.Errorf("%d are left", len(s.all))
		}
		leave()
		time.Sleep(2 * time.Hour)
		if _, ok := s.find("a", busy.id); ok || s.all[busy.id] != nil {
			t.Error("an idle session is still known")
		}
	})
}

func TestHTTPFaults(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, newBench(t).srv, func(p *patience) { p.body = 1000; p.bodyPause = 50 * time.Millisecond })
	p := s.join("")
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
		text   string
	}{
		"not JSON":            {func(r *http.Request) { setBody(r, "{") }, 400, "not a JSON-RPC message"},
		"a batch":             {func(r *http.Request) { setBody(r, ` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`) }, 400, "one by one"},
		"nothing":             {func(r *http.Request) { setBody(r, "") }, 400, "not a JSON-RPC message"},
		"not JSON-RPC":        {func(r *http.Request) { setBody(r, `{"id":1,"method":"ping"}`) }, 200, "Invalid JSON-RPC version"},
		"an unknown method":   {func(r *http.Request) { setBody(r, `{"jsonrpc":"2.0","id":1,"method":"fly"}`) }, 200, "fly"},
		"too long":            {func(r *http.Request) { setBody(r, strings.Repeat(" ", 1001)) }, 413, "longer than 1000 bytes"},
		"a slow body":         {func(r *http.Request) { r.Body = io.NopCloser(stuck(t)); r.ContentLength = 10 }, 400, "stalled"},
		"a form":              {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, "application/json"},
		"no type":             {func(r *http.Request) { r.Header.Del("Content-Type") }, 415, "application/json"},
		"an unknown version":  {func(r *http.Request) { r.Header.Set(mcp.HeaderProtocolVersion, "1999-01-01") }, 400, ""},
		"nobody":              {func(r *http.Request) { r.Header.Set("X-Owner", "nobody") }, 401, "key"},
		"a response":          {func(r *http.Request) { setBody(r, `{"jsonrpc":"2.0","id":1,"result":{}}`) }, 202, ""},
		"modern, no _meta":    {func(r *http.Request) { r.Header.Set(mcp.HeaderProtocolVersion, mcp.ProtocolVersion20260728) }, 400, "_meta"},
		"a modern notice":     {func(r *http.Request) { modernNotice(r) }, 202, ""},
		"a modern initialize": {func(r *http.Request) { modernInitialize(r) }, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.request(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			c.change(r)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			b, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != c.status || !strings.Contains(string(b), c.text) {
				t.Errorf("%d: %s; want %d and %q", answer.StatusCode, b, c.status, c.text)
			}
			if answer.Header.Get(server.HeaderKeySessionID) != "" {
				t.Error("a session was begun")
			}
		})
	}
	if n := len(s.http.sessions.all); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

func setBody(r *http.Request, text string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

func modernInitialize(r *http.Request) {
	r.Header.Set(mcp.HeaderProtocolVersion, mcp.ProtocolVersion20260728)
	r.Header.Set("Mcp-Method", "initialize")
	setBody(r, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
}

func modernNotice(r *http.Request) {
	r.Header.Set(mcp.HeaderProtocolVersion, mcp.ProtocolVersion20260728)
	r.Header.Set("Mcp-Method", "notifications/roots/list_changed")
	setBody(r, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
}

// stuck is a body whose sender says nothing, until the test ends.
func stuck(t *testing.T) io.Reader {
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	return r
}

func TestN12Results(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := serveHTTP(t, b.srv).join("")
	id := b.create()
	if r := p.result("exec", args{"sandbox_id": id, "command": "exit 3"}); r.IsError || !strings.Contains(string(r.StructuredContent), `"exit_code":3`) {
		t.Errorf("exit 3: %+v", r)
	}
	if r := p.result("exec", args{"sandbox_id": id, "command": "sleep 9", "timeout_seconds": 0.2}); r.IsError || !strings.Contains(string(r.StructuredContent), `"timed_out":true`) {
		t.Errorf("timeout: %+v", r)
	}
	if r := p.result("exec", args{"sandbox_id": "sb_0123456789abcdef", "command": "true"}); !r.IsError || !strings.HasPrefix(r.text(), "not_found: ") {
		t.Errorf("unknown sandbox: %+v", r)
	}
	if r := p.result("exec", args{"sandbox_id": id, "comand": "true"}); !r.IsError || !strings.HasPrefix(r.text(), "invalid_request: ") {
		t.Errorf("bad arguments: %+v", r)
	}
}

// Another owner's sandboxes and snapshots do not exist, and nothing tells them
// from such as never did.
func TestO1OwnersAreApart(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, newBench(t).srv)
	alice, bob := s.join("alice"), s.join("bob")
	var box, snap struct{ ID string }
	alice.result("sandbox_create", args{}).into(t, &box)
	alice.result("snapshot", args{"sandbox_id": box.ID}).into(t, &snap)
	for _, c := range []struct {
		tool string
		a    func(box, snap string) args
	}{
		{"exec", func(b, _ string) args { return args{"sandbox_id": b, "command": "true"} }},
		{"read_file", func(b, _ string) args { return args{"sandbox_id": b, "path": "x"} }},
		{"write_file", func(b, _ string) args { return args{"sandbox_id": b, "path": "x", "content": "x"} }},
		{"sandbox_set_timeout", func(b, _ string) args { return args{"sandbox_id": b, "timeout_seconds": 9} }},
		{"sandbox_destroy", func(b, _ string) args { return args{"sandbox_id": b} }},
		{"snapshot", func(b, _ string) args { return args{"sandbox_id": b} }},
		{"rollback", func(b, s string) args { return args{"sandbox_id": b, "snapshot_id": s} }},
		{"fork", func(_, s string) args { return args{"snapshot_id": s} }},
		{"snapshot_delete", func(_, s string) args { return args{"snapshot_id": s} }},
	} {
		foreign := bob.result(c.tool, c.a(box.ID, snap.ID))
		unknown := bob.result(c.tool, c.a("sb_0123456789abcdef", "snap_0123456789abcdef"))
		mask := strings.NewReplacer(box.ID, "ID", snap.ID, "ID", "sb_0123456789abcdef", "ID", "snap_0123456789abcdef", "ID")
		if !foreign.IsError || mask.Replace(foreign.text()) != mask.Replace(unknown.text()) || !strings.HasPrefix(foreign.text(), "not_found") {
			t.Errorf("%s: %q, but of an unknown one %q", c.tool, foreign.text(), unknown.text())
		}
	}
	for _, tool := range []string{"sandbox_list", "snapshot_list"} {
		if r := bob.result(tool, args{}); strings.Contains(r.text()+string(r.StructuredContent), box.ID) {
			t.Errorf("%s shows another owner's", tool)
		}
	}
	if r := alice.result("exec", args{"sandbox_id": box.ID, "command": "true"}); r.IsError {
		t.Errorf("the owner's own: %s", r.text())
	}
}
