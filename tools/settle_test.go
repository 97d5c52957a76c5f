package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// How long a response waits behind a notification, for each kind of client.
func TestN5ResponseWaitsForTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pings{}
		wait := func(p *pings, ago time.Duration, answer func(id string)) time.Duration {
			var s spoken
			if ago >= 0 {
				s.now()
				time.Sleep(ago)
			}
			start := time.Now()
			p.settle(t.Context(), &s, listener{}, func(m any) error {
				id, _ := json.Marshal(m.(map[string]any)["id"])
				go answer(string(id))
				return nil
			})
			synctest.Wait()
			return time.Since(start)
		}
		late := func(string) {}
		after := func(d time.Duration) func(string) {
			return func(id string) { time.Sleep(d); p.answered(id) }
		}
		for _, c := range []struct {
			what      string
			ago, want time.Duration
			answer    func(string)
		}{
			{"nothing was said", -1, 0, nil},
			{"it was long ago", settled + 1, 0, nil},
			{"the first ping", 0, firstTry, func(id string) { late = func(string) { p.answered(id) } }},
			{"one who has not answered", 3 * time.Millisecond, closeGap - 3*time.Millisecond, nil},
			{"and then has", -1, 0, nil},
			{"one who answers", 0, time.Millisecond, after(time.Millisecond)},
			{"one who is busy", 0, time.Second, after(time.Second)},
			{"one who no longer answers", 0, pingTime, func(string) {}},
			{"but then does", 0, 0, after(0)},
		} {
			if c.what == "and then has" {
				late("")
			}
			if got := wait(p, c.ago, c.answer); got != c.want {
				t.Errorf("%s: it waits %v, want %v", c.what, got, c.want)
			}
		}
		if got := wait(nil, 0, nil); got != closeGap {
			t.Errorf("one who has no pings: it waits %v", got)
		}
		if len(p.open) != 0 {
			t.Errorf("%d pings are left", len(p.open))
		}
		p.answered(`7`)
		p.answered(`"mcp-sandbox-ping-99"`)
	})
}

// A client without pings gets the response when it has read the notification; or,
// where that is not known, the later, the more it has to do.
func TestN5WaitsForClientsWithoutPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			what  string
			calls int
			reads time.Duration // -1: not known
			want  time.Duration
		}{
			{"one call", 1, -1, closeGap},
			{"two calls", 2, -1, 2 * closeGap},
			{"very many calls", 1000, -1, crowdGap},
			{"a quick reader", 1000, 0, closeGap},
			{"a slow reader", 1, time.Second, time.Second},
			{"one who does not read", 1, time.Hour, closeGap + pingTime},
		} {
			var s spoken
			s.now()
			l := listener{calls: c.calls}
			if start := time.Now(); c.reads >= 0 {
				l.unread = func() int { return int(max(0, c.reads-time.Since(start))) }
			}
			start := time.Now()
			var none *pings
			none.settle(t.Context(), &s, l, nil)
			if got := time.Since(start); got != c.want {
				t.Errorf("%s: it waits %v, want %v", c.what, got, c.want)
			}
		}
	})
}

func TestCancelDoesNotWaitForThePing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var s spoken
		s.now()
		start := time.Now()
		(&pings{}).settle(ctx, &s, listener{}, func(any) error { cancel(); return nil })
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// answering is a client by hand: what comes, and how to say something.
type answering struct {
	next func() (message, error)
	say  func(args)
}

// byLines sends a request, and takes what comes from then on.
func byLines(t *testing.T, w *wire, request args) answering {
	seen := len(w.all())
	say := func(m args) { line, _ := json.Marshal(m); w.send("%s", line) }
	say(request)
	return answering{say: say, next: func() (message, error) {
		waitFor(t, func() bool { return len(w.all()) > seen })
		seen++
		return w.all()[seen-1], nil
	}}
}

// On each transport that has pings, one goes behind the progress, and its answer
// lets the response through.
func TestN5PingBetweenProgressAndResponse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create()
	request := (&peer{}).toolCall(1, "exec", args{"sandbox_id": id, "command": "echo a"}, args{"progressToken": 1})
	for name, call := range map[string]func(t *testing.T) answering{
		"stdio": func(t *testing.T) answering {
			w := dial(t, b.srv, quiet())
			w.handshake("2025-11-25")
			return byLines(t, w, request)
		},
		"forwarded": func(t *testing.T) answering {
			r := forward(t, soon)
			r.serveNext(b.srv)
			r.handshake("2025-11-25")
			return byLines(t, r.wire, request)
		},
		"streamable": func(t *testing.T) answering {
			p := serveHTTP(t, b.srv).join("")
			events := bufio.NewReader(p.post(t.Context(), request).Body)
			return answering{say: func(m args) { p.post(t.Context(), m).Body.Close() }, next: func() (message, error) { return nextEvent(events) }}
		},
		"sse": func(t *testing.T) answering {
			c := dialSSE(t.Context(), serveHTTP(t, b.srv), http.DefaultTransport)
			c.send(request)
			return answering{say: func(m args) { c.send(m) }, next: func() (message, error) { return nextEvent(c.events) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := call(t)
			for _, want := range []string{"notifications/progress", "ping", ""} {
				m, err := c.next()
				if err != nil || m.Method != want {
					t.Fatalf("%+v, %v; want %q", m, err, want)
				}
				if want == "ping" {
					c.say(args{"jsonrpc": "2.0", "id": m.ID, "result": args{}})
				}
			}
		})
	}
}
