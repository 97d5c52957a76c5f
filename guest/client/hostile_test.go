package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// fakeGuest answers the greeting correctly and then as handler likes.
func fakeGuest(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	ours, theirs := net.Pipe()
	key := protocol.Key{1, 2, 3}
	s := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() { s.Close() })
	go serveFake(s, theirs)
	c, err := Dial(t.Context(), ours, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func serveFake(s *http.Server, conn net.Conn) {
	greeting := make([]byte, 2*protocol.KeySize+protocol.NonceSize)
	io.ReadFull(conn, greeting)
	conn.Write(append([]byte("stale output of an old session"), greeting[protocol.KeySize:]...))
	l := oneConn{make(chan net.Conn, 1)}
	l.conns <- conn
	s.Serve(l)
}

// oneConn is a listener whose connections are sent to it.
type oneConn struct{ conns chan net.Conn }

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l oneConn) Close() error   { close(l.conns); return nil }
func (l oneConn) Addr() net.Addr { return addr{} }

func frame(s protocol.Stream, payload string) []byte {
	b := append(make([]byte, protocol.FrameHeaderSize), payload...)
	protocol.PutFrameHeader(b, s, len(payload))
	return b
}

func discard(protocol.Stream, []byte) error { return nil }

// Whatever a guest says instead of a result is an error that wraps ErrLost, and
// one that breaks the protocol wraps ErrMalformed, too.
func TestHostileExec(t *testing.T) {
	ok := `{"exit_code":0,"stdout_bytes":0,"stderr_bytes":0,"duration":1}`
	for name, test := range map[string]struct {
		say       []byte
		malformed bool
	}{
		"nothing":            {nil, false},
		"no result":          {frame(protocol.Stdout, "x"), false},
		"half a frame":       {frame(protocol.Stdout, "xyz")[:6], false},
		"unknown frame":      {frame(77, ""), true},
		"huge frame":         {[]byte{1, 0xff, 0xff, 0xff, 0xff}, true},
		"not JSON":           {frame(protocol.Result, "oops"), true},
		"two values":         {frame(protocol.Result, ok+ok), true},
		"exit code 256":      {frame(protocol.Result, `{"exit_code":256}`), true},
		"exit code below 0":  {frame(protocol.Result, `{"exit_code":-1}`), true},
		"signal name":        {frame(protocol.Result, `{"exit_code":1,"signal":"<script>"}`), true},
		"totals too low":     {append(frame(protocol.Stdout, "x"), frame(protocol.Result, ok)...), true},
		"negative duration":  {frame(protocol.Result, `{"duration":-5}`), true},
		"bytes after result": {append(frame(protocol.Result, ok), 'x'), true},
		"over the cap":       {frame(protocol.Stdout, strings.Repeat("x", 101)), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) { w.Write(test.say) })
			_, err := c.Exec(t.Context(), protocol.ExecParams{MaxStdout: 100, MaxStderr: 100}, nil, discard)
			if !errors.Is(err, ErrLost) || errors.Is(err, ErrMalformed) != test.malformed {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHostileErrors(t *testing.T) {
	for text, want := range map[string]error{
		`{"code":"not_found","message":"no such file"}`: &protocol.Error{Code: protocol.ErrNotFound},
		`{"code":"rm -rf","message":"x"}`:               ErrMalformed,
		`<html>`:                                        ErrMalformed,
		strings.Repeat("x", 1<<20):                      ErrMalformed,
	} {
		c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, text)
		})
		_, err := c.Stat(t.Context(), protocol.StatParams{})
		var e *protocol.Error
		if wanted, ok := want.(*protocol.Error); ok {
			if !errors.As(err, &e) || e.Code != wanted.Code {
				t.Errorf("got %v, want %v", err, want)
			}
		} else if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestHostileAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"type":        `{"type":"hologram"}`,
		"size":        `{"type":"file","size":-1}`,
		"mode":        `{"type":"file","mode":4294967295}`,
		"not JSON":    `yes`,
		"too long":    `"` + strings.Repeat("x", maxJSON) + `"`,
		"nested deep": strings.Repeat("[", 50000),
	} {
		c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) })
		if _, err := c.Stat(t.Context(), protocol.StatParams{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"entries":[`+strings.Repeat(`null,`, 5<<20)+`null]}`)
	})
	if _, err := c.List(t.Context(), protocol.ListParams{Limit: 10}); !errors.Is(err, ErrMalformed) {
		t.Errorf("list bomb: got %v", err)
	}
}

// A stream that is cut short by an error in its trailer does not pass for whole.
func TestTrailerErrors(t *testing.T) {
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(protocol.InfoHeader, `{"type":"file"}`)
		io.WriteString(w, "half")
		w.Header().Set(http.TrailerPrefix+protocol.ErrorTrailer, `{"code":"internal","message":"disk"}`)
	})
	_, content, err := c.Read(t.Context(), protocol.ReadParams{})
	if err != nil {
		t.Fatal(err)
	}
	var e *protocol.Error
	if _, err := io.ReadAll(content); !errors.As(err, &e) {
		t.Errorf("read: got %v", err)
	}
	if _, err := c.Pack(t.Context(), protocol.PackParams{}, io.Discard); !errors.As(err, &e) {
		t.Errorf("pack: got %v", err)
	}
	c = fakeGuest(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "no totals") })
	if _, err := c.Pack(t.Context(), protocol.PackParams{}, io.Discard); !errors.Is(err, ErrLost) {
		t.Errorf("no totals: got %v", err)
	}
}

// A guest that never answers a call is left when the caller gives up, and one
// that never answers the greeting when Dial does.
func TestSilentGuest(t *testing.T) {
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Hello(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hello: got %v", err)
	}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	if _, err := Dial(ctx, ours, protocol.Key{}); !errors.Is(err, ErrHandshake) {
		t.Errorf("dial: got %v", err)
	}
}

// A guest that floods before its answer, for ever, is left in time, too.
func TestFloodInsteadOfAnswer(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go io.Copy(io.Discard, theirs)
	go func() {
		for junk := bytes.Repeat([]byte{1, 2, 3}, 10000); ; {
			if _, err := theirs.Write(junk); err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, ours, protocol.Key{1}); !errors.Is(err, ErrHandshake) {
		t.Errorf("got %v", err)
	}
}

// Closing ends all calls at once with ErrLost.
func TestCloseEndsCalls(t *testing.T) {
	arrived := make(chan bool)
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-r.Context().Done()
	})
	ended := make(chan error)
	go func() {
		_, err := c.Exec(context.Background(), protocol.ExecParams{}, nil, discard)
		ended <- err
	}()
	<-arrived
	c.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, ErrLost) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("exec hangs")
	}
	if <-c.Done(); !errors.Is(c.Err(), ErrLost) {
		t.Errorf("got %v", c.Err())
	}
}
