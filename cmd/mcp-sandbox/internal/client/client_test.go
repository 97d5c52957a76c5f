package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const id = schemas.SandboxID("sb_0123456789abcdef")

// at is a client of a server that answers everything in one way.
func at(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return of(t, srv)
}

func of(t *testing.T, srv *httptest.Server) *Client {
	t.Helper()
	c, err := New(srv.URL, "a-key-0123456789", srv.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Over TLS requests use HTTP/2, and a terminal does not, which it cannot.
func TestTerminalOverTLS(t *testing.T) {
	var protocol atomic.Value // of what was no terminal
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/terminal") {
			protocol.Store(r.Proto)
			io.WriteString(w, `{"sandboxes":[]}`)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		conn.Write(r.Context(), websocket.MessageText, []byte(`{"type":"started","exec_id":"ex_0123456789abcdef"}`))
		conn.Write(r.Context(), websocket.MessageBinary, []byte("shown"))
		conn.Write(r.Context(), websocket.MessageText, []byte(`{"type":"exit","exit_code":3}`))
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	c := of(t, srv)
	if _, err := c.Sandboxes(t.Context()); err != nil || protocol.Load() != "HTTP/2.0" {
		t.Errorf("%v, by %v", err, protocol.Load())
	}
	term, err := c.OpenTerminal(t.Context(), id, schemas.TerminalRequest{Columns: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	var shown string
	exit, err := term.Follow(t.Context(), func(b []byte) error { shown += string(b); return nil })
	if err != nil || exit.ExitCode != 3 || shown != "shown" {
		t.Errorf("%+v, %q, %v", exit, shown, err)
	}
}

// What a terminal that is slow, or stopped, has still to show comes before the
// answer to a ping, and is no sign that the server has gone.
func TestTerminalIsSlow(t *testing.T) {
	var pings atomic.Int64
	enough := make(chan struct{})
	c := at(t, func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool {
			if pings.Add(1) == 4 {
				close(enough)
			}
			return true
		}})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		conn.Write(r.Context(), websocket.MessageText, []byte(`{"type":"started","exec_id":"ex_0123456789abcdef"}`))
		conn.Write(r.Context(), websocket.MessageBinary, []byte("shown"))
		ctx := conn.CloseRead(r.Context())
		select {
		case <-enough:
		case <-ctx.Done():
			return
		}
		conn.Write(ctx, websocket.MessageText, []byte(`{"type":"exit","exit_code":3}`))
		<-ctx.Done()
	})
	term, err := c.OpenTerminal(t.Context(), id, schemas.TerminalRequest{Columns: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	term.every = 10 * time.Millisecond
	exit, err := term.Follow(t.Context(), func([]byte) error {
		select {
		case <-enough:
		case <-time.After(20 * time.Second):
			t.Error("it has given up asking")
		}
		return nil
	})
	if err != nil || exit.ExitCode != 3 {
		t.Errorf("%+v, %v", exit, err)
	}
}

// A stream that ends early, in whatever way, is an error and never an exit code.
func TestStreamsThatEndEarly(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":     "",
		"output only": "{\"type\":\"stdout\",\"data\":\"YQ==\"}\n\n",
		"half a line": `{"type":"exit","exit_`,
		"no JSON":     "<html>\n",
		"error":       `{"type":"error","error":{"code":"sandbox_gone","message":"gone","retryable":false}}` + "\n",
	} {
		c := at(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		_, err := c.ExecStream(t.Context(), id, schemas.ExecRequest{}, func(schemas.Stream, []byte) error { return nil })
		var e *Error
		if !errors.As(err, &e) || (name == "error") != IsCode(err, schemas.CodeSandboxGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What answers in a server's place is told apart, and is never sent the key on.
func TestStrangeAnswers(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked with %v", r.Header)
	}))
	t.Cleanup(other.Close)
	for name, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"proxy":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) },
		"web page": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
	} {
		_, err := at(t, h).Create(t.Context(), schemas.CreateSandboxRequest{})
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Body.Hint, "Check that the URL") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A call that may have been carried out is not said to be one to repeat.
func TestBrokenConnections(t *testing.T) {
	var asked atomic.Int64
	c := at(t, func(http.ResponseWriter, *http.Request) { asked.Add(1); panic(http.ErrAbortHandler) })
	var e *Error
	if _, err := c.Create(t.Context(), schemas.CreateSandboxRequest{}); !errors.As(err, &e) || e.Body.Retryable || e.Body.Hint != maybeDone || asked.Load() != 1 {
		t.Errorf("%+v after %d calls", err, asked.Load())
	}
	nobody, err := New("http://127.0.0.1:1", "", http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Create(t.Context(), schemas.CreateSandboxRequest{}); !errors.As(err, &e) || !e.Body.Retryable {
		t.Errorf("%v", err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := c.Sandboxes(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}
