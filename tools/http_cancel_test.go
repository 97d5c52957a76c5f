package tools

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestN1HTTPCancelKillsTheCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := serveHTTP(t, b.srv).join("")
	id := b.create()
	for _, meta := range []args{{"progressToken": 7}, nil} { // on a stream, and before anything was said
		answered := make(chan []message, 1)
		go func() { answered <- p.call(7, "exec", args{"sandbox_id": id, "command": ticks}, meta) }()
		waitFor(t, func() bool { return b.sh(id, "cat log | wc -c") != "0\n" })
		p.cancelCall(99) // unknown
		p.cancelCall(7)
		for _, m := range <-answered {
			if m.Method == "" {
				t.Errorf("the cancelled call was answered: %s", m.Result)
			}
		}
		b.stops(id)
		b.sh(id, "rm log")
	}
	if r := p.result("exec", args{"sandbox_id": id, "command": "echo next"}); !strings.Contains(r.text(), "next") {
		t.Errorf("the next call said %q", r.text())
	}
}

// A cancel reaches the calls of its own session and no others, whatever their IDs.
func TestN8CancelDoesNotReachOtherSessions(t *testing.T) {
	t.Parallel()
	var running atomic.Int64
	s := serveHTTP(t, newServer(blocked(&running), "test", quiet()))
	ctx, drop := context.WithCancel(t.Context())
	defer drop()
	victims := []*peer{s.join(""), s.join("other"), s.modern(), s.modern()}
	for _, p := range victims {
		go func() {
			if r, err := http.DefaultClient.Do(p.request(ctx, p.toolCall(1, "exec", anExec, nil))); err == nil {
				r.Body.Close()
			}
		}()
	}
	waitFor(t, func() bool { return running.Load() == 4 })
	for _, p := range []*peer{s.join(""), s.modern()} {
		p.cancelCall(1)
	}
	time.Sleep(50 * time.Millisecond)
	if n := running.Load(); n != 4 {
		t.Errorf("%d of 4 calls go on", n)
	}
	victims[0].cancelCall(1)
	waitFor(t, func() bool { return running.Load() == 3 })
	drop()
	waitFor(t, func() bool { return running.Load() == 0 })
}

func TestN3DroppedConnectionsLeaveNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var running atomic.Int64
	s := serveHTTP(t, newServer(blocked(&running), "test", quiet()))
	tr := &http.Transport{}
	for i := range 30 {
		ctx, drop := context.WithCancel(t.Context())
		p := s.modern()
		if i%2 == 0 {
			p = s.join("")
		}
		go func() {
			if r, err := tr.RoundTrip(p.request(ctx, p.toolCall(1, "exec", anExec, args{"progressToken": 1}))); err == nil {
				r.Body.Close()
			}
		}()
		c := dialSSE(ctx, s, tr)
		c.send(p.toolCall(2, "exec", anExec, nil))
		waitFor(t, func() bool { return running.Load() == 2 })
		drop()
		waitFor(t, func() bool { return running.Load() == 0 })
	}
	tr.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	waitFor(t, func() bool {
		s.http.streams.mu.Lock()
		defer s.http.streams.mu.Unlock()
		return len(s.http.streams.all) == 0
	})
	waitFor(t, func() bool {
		return goleak.Find(before, goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1"),
			goleak.IgnoreAnyFunction("testing.tRunner"), goleak.IgnoreAnyFunction("testing.(*T).Run")) == nil
	})
}

// sseClient is a raw client of the older transport.
type sseClient struct {
	*site
	events   *bufio.Reader
	endpoint string
	owner    string
	ctx      context.Context
}

func dialSSE(ctx context.Context, s *site, tr http.RoundTripper) *sseClient {
	s.t.Helper()
	r, _ := http.NewRequestWithContext(ctx, "GET", s.url+"/sse", nil)
	answer, err := tr.RoundTrip(r)
	if err != nil || answer.StatusCode != 200 {
		s.t.Fatalf("%v, %v", answer, err)
	}
	c := &sseClient{site: s, events: bufio.NewReader(answer.Body), ctx: ctx}
	m, err := nextEvent(c.events)
	if err != nil || m.Method != "endpoint" {
		s.t.Fatalf("%+v, %v", m, err)
	}
	c.endpoint = string(m.Params)
	return c
}

func (c *sseClient) send(body args) int {
	c.t.Helper()
	r := (&peer{site: c.site, owner: c.owner}).request(context.Background(), body)
	r.URL, _ = url.Parse(c.url + c.endpoint)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func TestN1SSECancelKillsTheCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := dialSSE(t.Context(), serveHTTP(t, b.srv), http.DefaultTransport)
	id := b.create()
	c.send((&peer{}).toolCall(7, "exec", args{"sandbox_id": id, "command": ticks}, args{"progressToken": "p"}))
	if m, err := nextEvent(c.events); err != nil || m.Method != "notifications/progress" {
		t.Fatalf("%+v, %v", m, err)
	}
	c.send(args{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": args{"requestId": 7}})
	b.stops(id)
	c.send(args{"jsonrpc": "2.0", "id": "ping", "method": "ping"})
	for {
		m, err := nextEvent(c.events)
		if err != nil || string(m.ID) == "7" {
			t.Fatalf("the cancelled call was answered: %+v, %v", m, err)
		}
		if string(m.ID) == `"ping"` {
			break
		}
	}
}

func TestN3EndOfSessionEndsItsCalls(t *testing.T) {
	t.Parallel()
	var running atomic.Int64
	p := serveHTTP(t, newServer(blocked(&running), "test", quiet())).join("")
	answered := make(chan []message, 1)
	go func() { answered <- p.call(1, "exec", anExec, nil) }()
	waitFor(t, func() bool { return running.Load() == 1 })
	r := p.request(t.Context(), "")
	r.Method = http.MethodDelete
	if status, _ := p.status(r); status != http.StatusNoContent {
		t.Errorf("DELETE: %d", status)
	}
	if all := <-answered; len(all) != 1 || all[0].Error == nil || string(all[0].ID) != "1" {
		t.Errorf("the call got %+v", all)
	}
}

// A client that stops reading holds nothing up for ever: its call ends.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()
	var running atomic.Int64
	flood := scripted{exec: func(ctx context.Context, emit func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
		running.Add(1)
		defer running.Add(-1)
		for ctx.Err() == nil { // past the rate limit of progress, to fill what the kernel buffers
			_ = Notify(ctx, "notifications/progress", map[string]any{"message": strings.Repeat("x", 1<<20)})
		}
		return schemas.ExecExit{}, ctx.Err()
	}}
	s := serveHTTP(t, newServer(flood, "test", quiet()), func(p *patience) { p.write = 50 * time.Millisecond })
	for _, how := range []string{"streamable", "sse"} {
		p := s.modern()
		r := p.request(t.Context(), p.toolCall(1, "exec", anExec, nil))
		if how == "sse" {
			r, _ = http.NewRequest("GET", s.url+"/sse", nil)
		}
		c, err := net.Dial("tcp", r.URL.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := r.Write(c); err != nil {
			t.Fatal(err)
		}
		if how == "sse" {
			answer, err := http.ReadResponse(bufio.NewReaderSize(c, 256), r)
			if err != nil {
				t.Fatal(err)
			}
			m, err := nextEvent(bufio.NewReader(answer.Body))
			if err != nil {
				t.Fatal(err)
			}
			(&sseClient{site: s, endpoint: string(m.Params)}).send((&peer{}).toolCall(1, "exec", anExec, nil))
		}
		waitFor(t, func() bool { return running.Load() == 1 })
		waitFor(t, func() bool { return running.Load() == 0 })
	}
}
