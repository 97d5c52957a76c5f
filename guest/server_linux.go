package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// server hands sessions to an http.Server, as connections.
type server struct {
	sessions chan *session
}

type sessionKey struct{}

func newServer(routes http.Handler, memory int64) *server {
	streamWindow, connWindow := windows(memory)
	s := &server{sessions: make(chan *session)}
	h := &http.Server{
		Handler:        routes,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       log.New(io.Discard, "", 0),
		ConnContext: func(_ context.Context, c net.Conn) context.Context {
			return context.WithValue(c.(*session).ctx, sessionKey{}, c)
		},
		Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReadFrameSize:              maxFrame,
			MaxReceiveBufferPerStream:     streamWindow,
			MaxReceiveBufferPerConnection: connWindow,
		},
	}
	h.Protocols.SetUnencryptedHTTP2(true)
	go h.Serve(s)
	return s
}

func (s *server) accept(c *session) { s.sessions <- c }

func (s *server) Accept() (net.Conn, error) { return <-s.sessions, nil }
func (s *server) Close() error              { return nil }
func (s *server) Addr() net.Addr            { return &net.UnixAddr{Name: "stdio"} }

// routes is all that a guest does.
func (g *guest) routes(f *fileCalls) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(protocol.PathHello, handler(g.hello))
	mux.Handle(protocol.PathExec, handler(g.exec))
	mux.Handle(protocol.PathDeadline, handler(g.deadline))
	mux.Handle(protocol.PathStart, handler(g.start))
	mux.Handle(protocol.PathExecs, handler(g.listJobs))
	mux.Handle(protocol.PathPoll, handler(g.poll))
	mux.Handle(protocol.PathInput, handler(g.feedJob))
	mux.Handle(protocol.PathEnough, handler(g.enough))
	mux.Handle(protocol.PathSignal, handler(g.signalJob))
	mux.Handle(protocol.PathKill, handler(g.killJob))
	mux.Handle(protocol.PathResize, handler(g.resizeJob))
	f.routes(mux)
	return mux
}

func (g *guest) hello(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, protocol.Hello{Version: protocol.Version, Started: g.started, Execs: len(g.execs) + g.jobs.running()})
}

// handler is a call. Its error becomes the response, or, when part of that is
// on its way already, the trailer that marks it as cut short.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := r.Context().Value(sessionKey{}).(*session)
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.calls.Done()
	t := &tracker{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			refuse(t, fmt.Errorf("panic: %v", p))
		}
	}()
	if err := h(t, r); err != nil {
		refuse(t, err)
	}
}

// tracker notes whether a response has begun.
type tracker struct {
	http.ResponseWriter
	begun bool
}

func (t *tracker) Write(p []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(p)
}

func (t *tracker) WriteHeader(status int) {
	t.begun = true
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func refuse(t *tracker, err error) {
	e := asError(err)
	text := asciiJSON(e)
	if t.begun {
		t.Header().Set(http.TrailerPrefix+protocol.ErrorTrailer, text)
		return
	}
	status := http.StatusBadRequest
	if e.Code == protocol.ErrInternal {
		status = http.StatusInternalServerError
	}
	t.WriteHeader(status)
	io.WriteString(t, text)
}

func asError(err error) *protocol.Error {
	var e *protocol.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, protocol.ErrMalformed), errors.Is(err, io.ErrUnexpectedEOF):
		e = &protocol.Error{Code: protocol.ErrInvalid, Message: err.Error()}
	default:
		e = &protocol.Error{Code: protocol.ErrInternal, Message: err.Error()}
	}
	return e
}

func decodeParams(r *http.Request, params any) error {
	return protocol.DecodeParams(r.Body, params)
}

func answer(w http.ResponseWriter, v any) error {
	_, err := io.WriteString(w, asciiJSON(v))
	return err
}

// asciiJSON is JSON that may stand in a header: nothing in it but printable
// ASCII.
func asciiJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	var b strings.Builder
	for _, c := range string(text) {
		switch {
		case c < 0x7f:
			b.WriteRune(c)
		case c > 0xffff:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
