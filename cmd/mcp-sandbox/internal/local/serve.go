package local

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxStreams     = 64  // each has one process at its other end
	maxConnections = 256 // that are no streams
)

// Server is what listens on a local socket.
type Server struct {
	http    *http.Server
	about   About
	serve   func(context.Context, *Stream)
	log     *slog.Logger
	leaving context.Context
	leave   context.CancelFunc

	connections atomic.Int64
	mu          sync.Mutex
	left        bool
	slots       int // taken of maxStreams
	holds       int
	free        chan struct{} // gets a word when holds becomes 0
	streams     map[*Stream]bool
	running     sync.WaitGroup
}

// NewServer answers requests with api, and gives each stream to serve, which must
// return when its other end has gone, and soon after its context is done. It may
// close the stream; the server does so when it returns.
func NewServer(about About, api http.Handler, serve func(context.Context, *Stream), log *slog.Logger) *Server {
	s := &Server{about: about, serve: serve, log: log, streams: map[*Stream]bool{}, free: make(chan struct{}, 1)}
	s.leaving, s.leave = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:                      s.handler(api),
		ReadHeaderTimeout:            10 * time.Second,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               64 << 10,
		DisableGeneralOptionsHandler: true,
		ConnState:                    s.count,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve takes connections from l until that is closed, [Server.Leave] or
// [Server.Close].
func (s *Server) Serve(l net.Listener) {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		s.log.Error("serve local socket", "error", err)
	}
}

// Leave takes no more connections, tells the streams to end, and waits until they
// and all requests have ended, or ctx is done.
func (s *Server) Leave(ctx context.Context) error {
	s.mu.Lock()
	s.left = true
	s.mu.Unlock()
	s.leave()
	err := s.http.Shutdown(ctx)
	idle := make(chan struct{})
	go func() { s.running.Wait(); close(idle) }()
	select {
	case <-idle:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close breaks what is left, and waits for it no longer.
func (s *Server) Close() error {
	s.mu.Lock()
	s.left = true
	for stream := range s.streams {
		stream.Close()
	}
	s.mu.Unlock()
	s.leave()
	return s.http.Close()
}

func (s *Server) handler(api http.Handler) http.Handler {
	about := s.about.header()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(aboutHeader, about)
		switch r.URL.Path {
		case streamPath:
			s.stream(w, r)
		case holdPath:
			s.hold(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "there are too many streams, or the server is ending", http.StatusServiceUnavailable)
		return
	}
	defer s.exit()
	stream, err := accept(w, r)
	if err != nil {
		s.log.Debug("open stream on local socket", "error", err)
		return
	}
	defer stream.Close()
	defer s.note(stream)()
	s.serve(s.leaving, stream)
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left || s.slots >= maxStreams {
		return false
	}
	s.slots++
	s.running.Add(1)
	return true
}

func (s *Server) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots--
	s.running.Done()
}

// note remembers a stream for [Server.Close].
func (s *Server) note(stream *Stream) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[stream] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, stream)
	}
}

// count drops connections beyond the number that there may be.
func (s *Server) count(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if s.connections.Add(1) > maxConnections {
			c.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.connections.Add(-1)
	}
}
