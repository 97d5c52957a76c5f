package tools

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestCloseEndsTheStreams(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := serveHTTP(t, b.srv)
	idle := dialSSE(t.Context(), s, http.DefaultTransport)
	busy := dialSSE(t.Context(), s, http.DefaultTransport)
	busy.send((&peer{}).toolCall(1, "exec", args{"sandbox_id": b.create(), "command": "sleep 0.5; echo done"}, nil))
	waitFor(t, func() bool { return inFlight(s) == 1 })
	p := s.modern()
	m := p.toolCall("l", "", args{}, nil)
	m["method"], m["params"].(args)["notifications"] = "subscriptions/listen", args{"toolsListChanged": true}
	delete(m["params"].(args), "name")
	listening := p.post(t.Context(), m)
	s.http.Close()
	if m, err := nextEvent(idle.events); err == nil {
		t.Errorf("an idle stream got %+v", m)
	}
	if m, err := nextEvent(busy.events); err != nil || !strings.Contains(string(m.Result), "done") {
		t.Errorf("a call that could finish got %+v, %v", m, err)
	}
	if m, err := nextEvent(busy.events); err == nil {
		t.Errorf("then came %+v", m)
	}
	if got := read(t, listening); len(got) != 2 || got[0].Method != "notifications/subscriptions/acknowledged" ||
		!strings.Contains(string(got[0].Params), `"io.modelcontextprotocol/subscriptionId":"l"`) {
		t.Errorf("the listener got %+v", got)
	}
}

func inFlight(s *site) (n int) {
	s.http.streams.mu.Lock()
	defer s.http.streams.mu.Unlock()
	for _, x := range s.http.streams.all {
		x.conn.mu.Lock()
		n += len(x.conn.calls)
		x.conn.mu.Unlock()
	}
	return n
}

func TestCloseCancelsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	var running atomic.Int64
	s := serveHTTP(t, newServer(blocked(&running), "test", quiet()), func(p *patience) { p.ending = 100 * time.Millisecond })
	c := dialSSE(t.Context(), s, http.DefaultTransport)
	c.send((&peer{}).toolCall(1, "exec", anExec, nil))
	waitFor(t, func() bool { return running.Load() == 1 })
	s.http.Close()
	if m, err := nextEvent(c.events); err != nil || !strings.Contains(string(m.Result), "cancelled") {
		t.Errorf("got %+v, %v", m, err)
	}
}

// Signs of life come on a stream that has nothing to say, and turn a silent
// answer into one.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := serveHTTP(t, b.srv, func(p *patience) { p.keepAlive = 20 * time.Millisecond })
	p := s.join("")
	r := p.post(t.Context(), p.toolCall(1, "exec", args{"sandbox_id": b.create(), "command": "sleep 0.2; echo ok"}, nil))
	if kind := r.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("it is %s", kind)
	}
	if all := read(t, r); len(all) != 1 || !strings.Contains(string(all[0].Result), "ok") {
		t.Errorf("got %+v", all)
	}
	c := dialSSE(t.Context(), s, http.DefaultTransport)
	if line, err := c.events.ReadString('\n'); err != nil || line != "\n" { // what ends the endpoint event
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := c.events.ReadString('\n'); err != nil || line != ": keep-alive\n" {
		t.Errorf("%q, %v", line, err)
	}
}
