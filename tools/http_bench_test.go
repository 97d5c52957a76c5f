package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// site is the HTTP transports on a real listener. Who calls is said by a header
// that tests set, in place of a key.
type site struct {
	t    testing.TB
	http *HTTP
	url  string
}

type ownerTestKey struct{}

func serveHTTP(t testing.TB, srv *server.MCPServer, change ...func(*patience)) *site {
	h := NewHTTP(srv, HTTPConfig{Log: quiet(), Owner: func(ctx context.Context) (manager.Owner, bool) {
		o, ok := ctx.Value(ownerTestKey{}).(manager.Owner)
		return o, ok && o != "nobody"
	}})
	for _, f := range change {
		f(&h.patience)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h.Streamable())
	mux.Handle("/sse", h.SSE())
	mux.Handle(MessagePath, h.Message())
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := manager.DefaultOwner
		if name := r.Header.Get("X-Owner"); name != "" {
			o = manager.Owner(name)
		}
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), ownerTestKey{}, o)))
	}))
	t.Cleanup(func() { h.Close(); ts.Close() })
	return &site{t, h, ts.URL}
}

// peer is a raw client of streamable HTTP: one session, or none for a modern one.
type peer struct {
	*site
	owner, session, version string
}

// join initializes.
func (s *site) join(owner string) *peer {
	s.t.Helper()
	p := &peer{site: s, owner: owner, version: mcp.ProtocolVersion20251125}
	r := p.post(s.t.Context(), args{"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": args{
		"protocolVersion": p.version, "capabilities": args{}, "clientInfo": args{"name": "test", "version": "1"},
	}})
	defer r.Body.Close()
	if p.session = r.Header.Get(server.HeaderKeySessionID); r.StatusCode != 200 || len(p.session) < 20 {
		s.t.Fatalf("initialize: %s, session %q", r.Status, p.session)
	}
	return p
}

// modern is a client of 2026-07-28, which has no session.
func (s *site) modern() *peer { return &peer{site: s, version: mcp.ProtocolVersion20260728} }

func (p *peer) request(ctx context.Context, body any) *http.Request {
	p.t.Helper()
	raw, isRaw := body.(string)
	if !isRaw {
		b, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		raw = string(b)
	}
	r, err := http.NewRequestWithContext(ctx, "POST", p.url+"/mcp", strings.NewReader(raw))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	set := func(name, value string) {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	set("X-Owner", p.owner)
	set(server.HeaderKeySessionID, p.session)
	set(mcp.HeaderProtocolVersion, p.version)
	if m, ok := body.(args); ok && mcp.IsModernProtocol(p.version) {
		set("Mcp-Method", m["method"].(string))
		if params, _ := m["params"].(args); params["name"] != nil {
			set("Mcp-Name", params["name"].(string))
		}
	}
	return r
}

func (p *peer) post(ctx context.Context, body any) *http.Response {
	p.t.Helper()
	r, err := http.DefaultClient.Do(p.request(ctx, body))
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// toolCall is the message of a tools/call.
func (p *peer) toolCall(id any, tool string, a, meta args) args {
	params := args{"name": tool, "arguments": a}
	if mcp.IsModernProtocol(p.version) {
		if meta == nil {
			meta = args{}
		}
		meta["io.modelcontextprotocol/protocolVersion"] = p.version
		meta["io.modelcontextprotocol/clientCapabilities"] = args{}
	}
	if meta != nil {
		params["_meta"] = meta
	}
	return args{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
}

func (p *peer) cancelCall(id any) {
	p.t.Helper()
	m := args{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": args{"requestId": id}}
	if mcp.IsModernProtocol(p.version) {
		m["params"].(args)["_meta"] = args{"io.modelcontextprotocol/protocolVersion": p.version, "io.modelcontextprotocol/clientCapabilities": args{}}
	}
	r := p.post(p.t.Context(), m)
	r.Body.Close()
	if r.StatusCode != http.StatusAccepted {
		p.t.Errorf("cancelled: %s", r.Status)
	}
}

// call makes a call and reads all that comes of it.
func (p *peer) call(id any, tool string, a, meta args) []message {
	p.t.Helper()
	return read(p.t, p.post(p.t.Context(), p.toolCall(id, tool, a, meta)))
}

// result is that of a call without progress.
func (p *peer) result(tool string, a args) result {
	p.t.Helper()
	all := p.call(1, tool, a, nil)
	if len(all) != 1 || all[0].Result == nil {
		p.t.Fatalf("%s: got %+v", tool, all)
	}
	var r result
	if err := json.Unmarshal(all[0].Result, &r); err != nil {
		p.t.Fatal(err)
	}
	return r
}

// read reads a response to its end: JSON, a stream, or nothing.
func read(t testing.TB, r *http.Response) (all []message) {
	t.Helper()
	defer r.Body.Close()
	if r.StatusCode == http.StatusAccepted || r.StatusCode == http.StatusNoContent {
		return nil
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		lines := bufio.NewReader(r.Body)
		for {
			m, err := nextEvent(lines)
			if err != nil {
				return all
			}
			all = append(all, m)
		}
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s: %.300q is not a message", r.Status, b)
	}
	return []message{m}
}

// nextEvent reads one event, and skips comments.
func nextEvent(r *bufio.Reader) (m message, err error) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return m, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if !json.Valid(data) { // the endpoint
				m.Method, m.Params = "endpoint", bytes.TrimSpace(data)
				return m, nil
			}
			return m, json.Unmarshal(data, &m)
		}
	}
}

// status is that of a request which is to be refused, and the error in its body.
func (p *peer) status(r *http.Request) (int, string) {
	p.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	all := read(p.t, answer)
	if len(all) != 1 || all[0].Error == nil {
		return answer.StatusCode, ""
	}
	return answer.StatusCode, all[0].Error.Message
}

// ticks is a command that shows by a file that it lives, and the test whether it
// still does.
const ticks = "while true; do echo tick; echo tick >> log; sleep 0.02; done"

func (b *bench) stops(id string) {
	b.t.Helper()
	waitFor(b.t, func() bool {
		before := b.sh(id, "cat log | wc -c")
		time.Sleep(100 * time.Millisecond)
		return b.sh(id, "cat log | wc -c") == before
	})
}
