package main

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A page in the user's browser, from elsewhere or under a name that was made to
// point here, gets nowhere, whatever it knows, and is told nothing. Nor does a form,
// which a browser sends to anybody without asking.
func TestPagesFromElsewhereGetNowhere(t *testing.T) {
	r := startWeb(t)
	defer r.stop()
	message, endSSE := r.openSSE()
	defer endSSE()
	hello := r.do("POST", "/mcp", initialize)
	hello.Body.Close()
	session := hello.Header.Get("Mcp-Session-Id")
	for _, route := range [][2]string{{"POST", "/mcp"}, {"GET", "/mcp"}, {"DELETE", "/mcp"}, {"GET", "/sse"}, {"POST", message}} {
		for _, c := range []struct {
			name, value string
			want        int
		}{
			{"Origin", "https://evil.example.com", http.StatusForbidden},
			{"Origin", "null", http.StatusForbidden},
			{"Host", "evil.example.com", http.StatusForbidden},
			{"Content-Type", "text/plain", http.StatusUnsupportedMediaType},
			{"Content-Type", "", http.StatusUnsupportedMediaType},
		} {
			if c.name == "Content-Type" && route[0] != "POST" {
				continue
			}
			req, _ := http.NewRequest(route[0], r.url+route[1], strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			req.Header.Set("Authorization", "Bearer "+testKey)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Mcp-Session-Id", session)
			if req.Header.Set(c.name, c.value); c.name == "Host" {
				req.Host = c.value
			}
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != c.want || answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s with %s %q: %d, %v", route, c.name, c.value, answer.StatusCode, answer.Header)
			}
		}
	}
	if answer := r.text("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", session); !strings.HasPrefix(answer, "200") {
		t.Errorf("afterwards the session is answered with %s", answer)
	}
}

// openSSE returns where the messages go, which is a path, so that it is right behind
// any proxy. The stream names no origins, and wants no proxy to hold it back.
func (r *running) openSSE() (message string, end func()) {
	r.t.Helper()
	ctx, end := context.WithTimeout(r.t.Context(), time.Minute)
	req, _ := http.NewRequestWithContext(ctx, "GET", r.url+"/sse", nil)
	req.Header.Set("Authorization", "Bearer "+testKey)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	h := answer.Header
	if h.Get("Access-Control-Allow-Origin") != "" || h.Get("X-Accel-Buffering") != "no" || h.Get("Content-Type") != "text/event-stream" {
		r.t.Errorf("the stream has %v", h)
	}
	events := bufio.NewReader(answer.Body)
	_, _ = events.ReadString('\n')
	data, _ := events.ReadString('\n')
	if message = strings.TrimSpace(strings.TrimPrefix(data, "data: ")); !strings.HasPrefix(message, "/message?") {
		r.t.Fatalf("messages go to %q", data)
	}
	return message, end
}
