package tools

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// Connections to one server share nothing: IDs and tokens are each client's own,
// and so are cancels and ends.
func TestConnectionsAreApart(t *testing.T) {
	noLeaks(t)
	var running atomic.Int64
	srv := newServer(blocked(&running), "test", quiet())
	a, b := forward(t, soon), forward(t, soon)
	a.serveNext(srv)
	b.serveNext(srv)
	c := dial(t, srv, quiet())
	all := []*wire{a.wire, b.wire, c}
	for _, w := range all {
		w.handshake(mcp.ProtocolVersion20251125)
		w.callWith(1, "exec", anExec, args{"progressToken": 1})
	}
	waitFor(t, func() bool { return running.Load() == 3 })
	a.cancelCall(1)
	waitFor(t, func() bool { return running.Load() == 2 })
	a.call(1, "exec", anExec) // the ID is free again
	waitFor(t, func() bool { return running.Load() == 3 })
	b.in.Close()
	b.ended(soon)
	waitFor(t, func() bool { return running.Load() == 2 })
	for _, w := range []*wire{a.wire, c} {
		w.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
		w.wait("ping", soon)
		if n := len(w.answers(1)); n != 0 {
			t.Errorf("a call that runs was answered %d times", n)
		}
	}
}

// A call that comes when the server ends, by a forwarder that has not heard of it,
// may be tried again like one that runs then.
func TestPeerIsToldThatTheServerEnds(t *testing.T) {
	noLeaks(t)
	for _, version := range []string{mcp.ProtocolVersion20251125, ""} {
		near, far := Pipe()
		w := &wire{t: t, in: near, came: make(chan struct{}, 1)}
		done := make(chan struct{})
		go func() { defer close(done); w.read(near) }()
		var running atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan struct{})
		go func() {
			defer close(served)
			defer far.Close()
			_ = ServePeer(ctx, newServer(blocked(&running), "test", quiet()), far, leaveTime, quiet())
		}()
		var meta args
		if version != "" {
			w.handshake(version)
		} else {
			meta = args{mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientInfo: args{"name": "x", "version": "1"}, mcp.MetaKeyClientCapabilities: args{}}
		}
		w.callWith(1, "exec", anExec, meta)
		waitFor(t, func() bool { return running.Load() == 1 })
		cancel()
		waitFor(t, func() bool {
			for _, m := range w.all() {
				if m.Method == leavingMethod {
					return true
				}
			}
			return false
		})
		waitFor(t, func() bool { // until it takes no more
			w.callWith(2, "exec", anExec, meta)
			return len(w.answers(2)) > 0
		})
		for _, id := range []int{2, 1} {
			m := w.wait(id, soon)
			if text, modern := string(m.Result), version == ""; !strings.Contains(text, "backend_unavailable: the server is shutting down") || strings.Contains(text, `"resultType":"complete"`) != modern {
				t.Errorf("version %q, call %d: %s", version, id, text)
			}
		}
		near.Close()
		<-served
		<-done
	}
}
