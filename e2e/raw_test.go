package e2e

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

// raw speaks JSON-RPC by hand, so that a test can break the rules and sees
// every line that comes back.
type raw struct {
	*client.Process
	t *testing.T

	mu   sync.Mutex
	got  []message
	news chan struct{}
	bad  []string
}

// message is one line from the server.
type message struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  struct {
		ProgressToken any
		Progress      float64
		Message       string
	}
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
	at time.Time
}

// rawServer starts the program of s, which must not be running, without a client.
func (s *server) raw() *raw {
	s.t.Helper()
	p, err := client.Launch(s.launch())
	if err != nil {
		s.t.Fatal(err)
	}
	r := &raw{Process: p, t: s.t, news: make(chan struct{}, 1)}
	go r.read()
	s.t.Cleanup(func() {
		p.Kill()
		if len(r.bad) > 0 {
			s.t.Errorf("not protocol on standard output: %.300q", r.bad)
		}
	})
	return r
}

// quiet is a server of its own data directory that is not running yet.
func quiet(t *testing.T, args ...string) *server {
	t.Helper()
	s := start(t, args...)
	s.Kill()
	return s
}

func (r *raw) read() {
	for lines := r.Lines(); lines.Scan(); {
		var m message
		err := json.Unmarshal(lines.Bytes(), &m)
		r.mu.Lock()
		if err != nil || m.JSONRPC != "2.0" {
			r.bad = append(r.bad, lines.Text())
		}
		m.at = time.Now()
		r.got = append(r.got, m)
		r.mu.Unlock()
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}

// say writes a line as it is.
func (r *raw) say(format string, a ...any) {
	r.t.Helper()
	if _, err := fmt.Fprintf(r.Stdin, format+"\n", a...); err != nil {
		r.t.Errorf("write to the server: %v", err)
	}
}

// hello shakes hands.
func (r *raw) hello() {
	r.t.Helper()
	r.say(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	r.answer(`"hello"`)
	r.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// tool sends a tool call; meta is the content of _meta.
func (r *raw) tool(id any, name string, a args, meta args) {
	r.t.Helper()
	params := args{"name": name, "arguments": a}
	if meta != nil {
		params["_meta"] = meta
	}
	line, err := json.Marshal(args{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
	if err != nil {
		r.t.Fatal(err)
	}
	r.say("%s", line)
}

// answer waits for the response to a request.
func (r *raw) answer(id string) message { return r.answerWithin(id, 30*time.Second) }

func (r *raw) answerWithin(id string, limit time.Duration) message {
	r.t.Helper()
	deadline := time.After(limit)
	for {
		if all := r.answers(id); len(all) > 0 {
			return all[0]
		}
		select {
		case <-r.news:
		case <-deadline:
			r.t.Fatalf("no answer to %s within %v; got %d messages\n%s", id, limit, len(r.messages()), tail(r.Log()))
		}
	}
}

// answers are all responses to a request; more than one is an error.
func (r *raw) answers(id string) (found []message) {
	for _, m := range r.messages() {
		if string(m.ID) == id && m.Method == "" {
			found = append(found, m)
		}
	}
	return found
}

func (r *raw) messages() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message(nil), r.got...)
}

// structured decodes a tool result's structured content.
func (m message) structured(into any) (isError bool, err error) {
	var result struct {
		IsError           bool
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(m.Result, &result); err != nil {
		return false, fmt.Errorf("decode %s: %w", m.Result, err)
	}
	if into == nil || result.StructuredContent == nil {
		return result.IsError, nil
	}
	return result.IsError, json.Unmarshal(result.StructuredContent, into)
}
