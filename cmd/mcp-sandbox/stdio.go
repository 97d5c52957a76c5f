package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/tools"
)

const (
	// shutdownTime bounds everything between the end of input, or a signal, and
	// the end of the process. Clients kill what takes longer than some five
	// seconds.
	shutdownTime = 4 * time.Second
	// stdioGrace is how much of it the calls of others get who forward to this
	// process.
	stdioGrace = 1500 * time.Millisecond
)

type stdioCmd struct {
	settings
}

// Run serves until input ends or a signal comes. Sandboxes stay either way.
func (c *stdioCmd) Run(e *env) error {
	if err := c.complete(e); err != nil {
		return err
	}
	s := &stdio{settings: &c.settings, log: c.newLogger(e.stderr), in: &input{r: e.stdin, ended: make(chan struct{})}, out: e.stdout}
	h, err := s.open(s.log, nil)
	if err != nil && !errors.Is(err, manager.ErrDataDirHeld) {
		return err
	}
	// A client that closes standard error must not end the server by its next
	// line of log.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err != nil {
		return s.forward(ctx, err)
	}
	s.hold(h)
	return s.untilEnd(ctx, func() error { return tools.ServeStdio(ctx, h.mcp, s.in, s.out, s.log) })
}

// stdio is a server for one client. It holds the data directory or forwards to the
// process that does.
type stdio struct {
	*settings
	log *slog.Logger
	in  *input
	out io.Writer

	mu     sync.Mutex
	holder *holder // nil while another process is
}

// hold begins to work as the holder of the data directory.
func (s *stdio) hold(h *holder) {
	h.start("stdio", stdioGrace, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holder = h
}

func (s *stdio) held() *holder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holder
}

// untilEnd serves the client until one of them ends it, and sees to it that the
// process leaves in time.
func (s *stdio) untilEnd(ctx context.Context, serve func() error) error {
	served := make(chan error, 1)
	go func() {
		err := ignoreEnd(serve())
		if h := s.held(); h != nil {
			err = errors.Join(err, h.close())
		}
		served <- err
	}()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	case <-s.in.ended:
	}
	if h := s.held(); h != nil {
		h.leave()
	}
	select {
	case err := <-served:
		return err
	case <-time.After(shutdownTime):
		s.log.Warn("calls did not end in time; leaving without them")
		return nil
	}
}

// ignoreEnd drops the errors that only say that serving ended as it should.
func ignoreEnd(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// input tells when it has ended, which is when the clock for leaving starts.
type input struct {
	r     io.Reader
	once  sync.Once
	ended chan struct{}
}

func (i *input) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil {
		i.once.Do(func() { close(i.ended) })
	}
	return n, err
}
