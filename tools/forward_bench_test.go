package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"
)

// relayed is a client behind a Forwarder, whose servers are the test's: it takes
// one after the other from next.
type relayed struct {
	*wire
	next chan Link
}

func forward(t testing.TB, patience time.Duration) *relayed {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	r := &relayed{&wire{t: t, in: inW, cancel: cancel, done: make(chan error, 1), came: make(chan struct{}, 1)}, make(chan Link, 10)}
	f := &Forwarder{Reconnect: r.reconnect, Patience: patience, Log: quiet()}
	go func() {
		first, err := r.wait0(ctx)
		if err == nil {
			err = f.Run(ctx, first, inR, outW)
		}
		inR.Close()
		outW.Close()
		r.done <- err
	}()
	var reading sync.WaitGroup
	reading.Go(func() { r.read(outR) })
	t.Cleanup(func() {
		inW.Close()
		cancel()
		reading.Wait()
	})
	return r
}

// noLeaks fails the test if it leaves goroutines behind. Call it first, and not
// in parallel with other tests.
func noLeaks(t testing.TB) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(before, goleak.IgnoreAnyFunction("testing.tRunner"), goleak.IgnoreAnyFunction("testing.(*T).Run")); err != nil {
			t.Error(err)
		}
	})
}

var errNone = errors.New("none")

func (r *relayed) reconnect(context.Context) (Link, error) {
	select {
	case l := <-r.next:
		return l, nil
	default:
		return nil, errNone
	}
}

func (r *relayed) wait0(ctx context.Context) (Link, error) {
	select {
	case l := <-r.next:
		return l, nil
	case <-ctx.Done():
		return nil, errNone
	}
}

// serveNext has a real server come next. kill ends it as a crash would; leave as
// it should end, and returns when it has.
func (r *relayed) serveNext(srv *server.MCPServer) (kill, leave func()) {
	near, far := Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		_ = ServePeer(ctx, srv, far, 100*time.Millisecond, quiet())
	}()
	r.t.Cleanup(func() { cancel(); <-done })
	r.next <- near
	return func() { far.Close(); <-done }, func() { cancel(); <-done }
}

// scriptedServer is the far end of a link, and says what the test says.
type scriptedServer struct {
	Link
	t     testing.TB
	lines *bufio.Reader
}

func (r *relayed) scriptNext() *scriptedServer {
	near, far := Pipe()
	r.next <- near
	r.t.Cleanup(func() { far.Close() })
	return &scriptedServer{far, r.t, bufio.NewReader(far)}
}

// hears waits for a message, which must be of this method, and returns its ID.
func (s *scriptedServer) hears(method string) json.RawMessage {
	s.t.Helper()
	defer time.AfterFunc(soon, func() { s.Close() }).Stop()
	line, err := s.lines.ReadBytes('\n')
	var m message
	if err != nil || json.Unmarshal(line, &m) != nil || m.Method != method {
		s.t.Fatalf("want %s, got %q, %v", method, line, err)
	}
	return m.ID
}

// hearsNoMore waits for the end of what the forwarder says.
func (s *scriptedServer) hearsNoMore() {
	s.t.Helper()
	defer time.AfterFunc(soon, func() { s.Close() }).Stop()
	if line, err := s.lines.ReadBytes('\n'); err != io.EOF {
		s.t.Fatalf("got %q, %v", line, err)
	}
}

func (s *scriptedServer) says(format string, a ...any) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s, format, a...); err != nil {
		s.t.Errorf("say: %v", err)
	}
}

func (s *scriptedServer) answers(id json.RawMessage) {
	s.t.Helper()
	s.says(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
}

func (s *scriptedServer) welcomes() {
	s.t.Helper()
	s.answers(s.hears("initialize"))
	s.hears("notifications/initialized")
}

// shakes hands, by way of the forwarder.
func (r *relayed) shakes(s *scriptedServer) {
	r.t.Helper()
	r.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{}}`)
	s.answers(s.hears("initialize"))
	r.wait("init", soon)
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.hears("notifications/initialized")
}

// retryable waits for the answer to a call, which must be an error that says that
// the call may be tried again.
func (w *wire) retryable(id any) string {
	w.t.Helper()
	r := w.result(id, soon)
	if !r.IsError || !strings.HasPrefix(r.text(), "backend_unavailable: ") || !strings.HasSuffix(r.text(), "\nThe same call may succeed later.") {
		w.t.Errorf("call %v: %+v", id, r)
	}
	return r.text()
}

// once checks that each of the first n calls was answered once.
func (w *wire) once(n int) {
	w.t.Helper()
	for i := range n {
		if all := w.answers(i); len(all) != 1 {
			w.t.Errorf("call %d was answered %d times", i, len(all))
		}
	}
}
