package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// patienceToSay is how long a command that has done its work waits for others in
// silence.
const patienceToSay = time.Second

// ownServer is this process as the server, for the time that a command takes. Its
// own calls do not go by the socket, which may not be possible here.
type ownServer struct {
	h    *holder
	http *http.Server
	pipe *pipeListener
	say  io.Writer
}

// becomeServer takes the data directory. It keeps no spare sandboxes: it will be
// gone before one is wanted.
func (r *reach) becomeServer(log *slog.Logger, command string, say io.Writer) (*ownServer, error) {
	r.WarmPool = 0
	h, err := r.open(log, nil)
	if err != nil {
		return nil, err
	}
	h.start(command, stdioGrace, nil)
	s := &ownServer{
		h: h, say: say,
		http: &http.Server{Handler: h.api, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)},
		pipe: newPipeListener(),
	}
	go s.http.Serve(s.pipe)
	return s, nil
}

func (s *ownServer) transport() *http.Transport {
	return &http.Transport{DialContext: s.pipe.dial, DisableCompression: true}
}

// close lets go of the data directory when nobody needs this server any more, but
// no later than ctx is done: then calls of others are ended, and told so.
func (s *ownServer) close(ctx context.Context) error {
	if s.h.local != nil {
		notice := time.AfterFunc(patienceToSay, func() {
			fmt.Fprintln(s.say, "mcp-sandbox: done; waiting for other commands that use this one as their server (interrupt it to end them)")
		})
		_ = s.h.local.Quit(ctx)
		notice.Stop()
	}
	err := s.h.close()
	_ = s.http.Close()
	return err
}

// pipeListener is a listener within the process.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept is for [net.Listener].
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close is for [net.Listener].
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is for [net.Listener].
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
