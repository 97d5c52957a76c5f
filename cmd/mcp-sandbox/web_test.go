package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/metrics"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const testKey = "0123456789abcdef"

// running is a server on a fake backend.
type running struct {
	t   *testing.T
	m   *manager.Manager
	url string

	stop  func()
	ended chan error
}

func startWeb(t *testing.T) *running {
	c := &serveCmd{httpSettings: httpSettings{Host: "127.0.0.1", APIKeys: testKey}}
	log := slog.New(slog.DiscardHandler)
	fake := backendtest.NewFake(t)
	m, err := manager.New(manager.Config{
		DataDir: t.TempDir(), AllowedImages: []string{"*"}, MaxSandboxes: 9,
		DefaultTimeoutSeconds: 900, MaxTimeoutSeconds: 900, DefaultCPUs: 1, MaxCPUs: 1, DefaultMemoryMB: 64, MaxMemoryMB: 64,
		DefaultPidsLimit: 64, MaxPidsLimit: 64, DefaultExecTimeoutSeconds: 60, MaxExecTimeoutSeconds: 60,
		MaxExecOutputBytes: 1 << 20, MaxFileBytes: 1 << 20, MaxSnapshotBytes: 1 << 20, ReapInterval: time.Minute, Log: log,
	}, fake)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	m.Start()
	keys, err := c.keys(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := c.newWeb(newHolder(m, fake, log), keys, nil, metrics.New(), log)
	w.grace = time.Second
	ctx, stop := context.WithCancel(t.Context())
	r := &running{t: t, m: m, url: w.url(l.Addr()), stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- w.serve(ctx, func() {}, l) }()
	return r
}

func (r *running) do(method, path, body string, header ...string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Errorf("%s %s: %v", method, path, err)
		return &http.Response{Body: http.NoBody}
	}
	return answer
}

// text is all that comes of a call, until it ends.
func (r *running) text(method, path, body string, header ...string) string {
	answer := r.do(method, path, body, header...)
	defer answer.Body.Close()
	b, _ := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, " ", string(b))
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func execOver(id schemas.SandboxID, command string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{"sandbox_id":%q,"command":%q}}}`, id, command)
}

// Told to end, the server lets short calls finish, tells the others why they
// end, and keeps the sandboxes.
func TestShutdown(t *testing.T) {
	before := goleak.IgnoreCurrent()
	r := startWeb(t)
	box, err := r.m.Create(t.Context(), manager.DefaultOwner, schemas.CreateSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	hello := r.do("POST", "/mcp", initialize)
	hello.Body.Close()
	session := hello.Header.Get("Mcp-Session-Id")

	sse := r.do("GET", "/sse", "")
	events := bufio.NewReader(sse.Body)
	_, _ = events.ReadString('\n')
	endpoint, _ := events.ReadString('\n')
	idle := r.do("GET", "/sse", "")
	r.do("POST", strings.TrimSpace(strings.TrimPrefix(endpoint, "data: ")), execOver(box.ID, "sleep 60")).Body.Close()

	calls := map[string]func() string{
		"short": func() string {
			return r.text("POST", "/v1/sandboxes/"+string(box.ID)+"/exec", `{"command":"sleep 0.5; echo done"}`)
		},
		"exec": func() string {
			return r.text("POST", "/v1/sandboxes/"+string(box.ID)+"/exec", `{"command":"sleep 60"}`)
		},
		"stream": func() string {
			return r.text("POST", "/v1/sandboxes/"+string(box.ID)+"/exec/stream", `{"command":"echo hi; sleep 60"}`)
		},
		"mcp":  func() string { return r.text("POST", "/mcp", execOver(box.ID, "sleep 60"), "Mcp-Session-Id", session) },
		"sse":  func() string { b, _ := io.ReadAll(events); return string(b) },
		"idle": func() string { b, _ := io.ReadAll(idle.Body); return string(b) },
	}
	type outcome struct{ name, text string }
	outcomes := make(chan outcome, len(calls))
	for name, call := range calls {
		go func() { outcomes <- outcome{name, call()} }()
	}
	for deadline := time.Now().Add(20 * time.Second); r.m.Stats().Execs < 5; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d commands run", r.m.Stats().Execs)
		}
	}
	start := time.Now()
	r.stop()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("it does not end")
	}
	t.Logf("it took %v", time.Since(start))
	want := map[string]string{
		"short": "done", "exec": "503 ", "stream": "shutting down", "mcp": "shutting down", "sse": "shutting down", "idle": "endpoint",
	}
	for range calls {
		o := <-outcomes
		if !strings.Contains(o.text, want[o.name]) {
			t.Errorf("%s got %q, want %q", o.name, o.text, want[o.name])
		}
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://")); err == nil {
		t.Error("it still listens")
	}
	sse.Body.Close()
	idle.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err := r.m.Close(); err != nil {
		t.Error(err)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func TestIdleServerEndsAtOnce(t *testing.T) {
	r := startWeb(t)
	r.do("GET", "/livez", "").Body.Close()
	r.stop()
	select {
	case <-r.ended:
	case <-time.After(2 * time.Second):
		t.Error("it waits for something")
	}
}

// The target "*" is no path. net/http has answers of its own for it, without a
// key and without a body.
func TestAsteriskIsAnsweredLikeAnyOther(t *testing.T) {
	r := startWeb(t)
	defer r.stop()
	for _, method := range []string{"GET", "POST", "OPTIONS", "TRACE"} {
		for key, want := range map[string]string{testKey: `404 {"error":{"code":"not_found"`, "no-key": `401 {"error":{"code":"unauthorized"`} {
			c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(c, "%s * HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nContent-Length: 0\r\n\r\n", method, key)
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if got := fmt.Sprintf("%d %s", answer.StatusCode, body); !strings.HasPrefix(got, want) || err != nil {
				t.Errorf("%s *: got %s, %v", method, got, err)
			}
		}
	}
}
