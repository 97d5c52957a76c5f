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

// shutdownTime bounds everything between the end of input, or a signal, and the
// end of the process. Clients kill what takes longer than some five seconds.
const shutdownTime = 4 * time.Second

type stdioCmd struct {
	settings
}

// Run serves until input ends or a signal comes. Sandboxes stay either way.
func (c *stdioCmd) Run(e *env) error {
	if err := c.complete(e); err != nil {
		return err
	}
	log := c.newLogger(e.stderr)
	m, backend, err := c.openCore(log, nil)
	if err != nil {
		return err
	}
	defer backend.Close()
	// A client that closes standard error must not end the server by its next
	// line of log.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	m.Start()
	return serveStdio(ctx, m, log, e)
}

func serveStdio(ctx context.Context, m *manager.Manager, log *slog.Logger, e *env) error {
	in := &input{r: e.stdin, ended: make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		err := tools.ServeStdio(ctx, tools.NewServer(m, version(), log), in, e.stdout, log)
		served <- errors.Join(ignoreEnd(err), m.Close())
	}()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	case <-in.ended:
	}
	select {
	case err := <-served:
		return err
	case <-time.After(shutdownTime):
		log.Warn("calls did not end in time; leaving without them")
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
