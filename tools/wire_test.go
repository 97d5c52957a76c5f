package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// wire is a client that speaks raw lines to ServeStdio.
type wire struct {
	t      testing.TB
	in     io.WriteCloser
	cancel context.CancelFunc
	done   chan error // what ServeStdio returned

	mu       sync.Mutex
	messages []message // as they came
	lines    []string
	came     chan struct{}
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func dial(t testing.TB, srv *server.MCPServer, log *slog.Logger) *wire {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	w := &wire{t: t, in: inW, cancel: cancel, done: make(chan error, 1), came: make(chan struct{}, 1)}
	go func() {
		err := ServeStdio(ctx, srv, inR, outW, log)
		outW.Close()
		w.done <- err
	}()
	var reading sync.WaitGroup
	reading.Go(func() { w.read(outR) })
	t.Cleanup(func() {
		inW.Close()
		cancel()
		reading.Wait()
	})
	return w
}

func (w *wire) read(r io.Reader) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if len(line) > 0 {
				w.t.Errorf("a line without end: %q", line)
			}
			return
		}
		var m message
		var version struct{ JSONRPC string }
		if json.Unmarshal(line, &m) != nil || json.Unmarshal(line, &version) != nil || version.JSONRPC != "2.0" {
			w.t.Errorf("not JSON-RPC: %.200q", line)
		}
		w.mu.Lock()
		w.messages = append(w.messages, m)
		w.lines = append(w.lines, strings.TrimSuffix(string(line), "\n"))
		w.mu.Unlock()
		select {
		case w.came <- struct{}{}:
		default:
		}
	}
}

func (w *wire) send(format string, a ...any) {
	w.t.Helper()
	if _, err := fmt.Fprintf(w.in, format+"\n", a...); err != nil {
		w.t.Errorf("send: %v", err)
	}
}

// call sends a tools/call.
func (w *wire) call(id any, tool string, a args) {
	w.t.Helper()
	w.callWith(id, tool, a, nil)
}

func (w *wire) callWith(id any, tool string, a, meta args) {
	w.t.Helper()
	params := args{"name": tool, "arguments": a}
	if meta != nil {
		params["_meta"] = meta
	}
	b, err := json.Marshal(args{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
	if err != nil {
		w.t.Fatal(err)
	}
	w.send("%s", b)
}

func (w *wire) cancelCall(id any) {
	w.t.Helper()
	b, _ := json.Marshal(id)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"test"}}`, b)
}

// all is everything that has come so far.
func (w *wire) all() []message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]message(nil), w.messages...)
}

// raw is the same as text.
func (w *wire) raw() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.lines...)
}

// answers are the responses to one request.
func (w *wire) answers(id any) (found []message) {
	b, _ := json.Marshal(id)
	for _, m := range w.all() {
		if m.Method == "" && string(m.ID) == string(b) {
			found = append(found, m)
		}
	}
	return found
}

// wait waits for the response to a request.
func (w *wire) wait(id any, most time.Duration) message {
	w.t.Helper()
	deadline := time.After(most)
	for {
		if a := w.answers(id); len(a) > 0 {
			return a[0]
		}
		select {
		case <-w.came:
		case <-deadline:
			w.t.Fatalf("no answer to %v within %v; there are %d messages", id, most, len(w.all()))
		}
	}
}

// result waits for a tool's result.
func (w *wire) result(id any, most time.Duration) result {
	w.t.Helper()
	m := w.wait(id, most)
	var r result
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
		w.t.Fatalf("no result, but %+v", m)
	}
	checkResult(w.t, r)
	return r
}

// ended waits for ServeStdio to return.
func (w *wire) ended(most time.Duration) {
	w.t.Helper()
	select {
	case err := <-w.done:
		if err != nil {
			w.t.Errorf("ended with %v", err)
		}
	case <-time.After(most):
		w.t.Fatalf("did not end within %v", most)
	}
}

// handshake is how a client of before 2026-07-28 begins.
func (w *wire) handshake(version string) message {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, version)
	m := w.wait("init", soon)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

// buffer is a writer that tests read while it is written.
type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
