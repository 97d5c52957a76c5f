package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// session is one command for users at work: a server, and where to print.
type session struct {
	*link
	*env
}

// run does a command's work with a server that it finds, and lets go of that in
// the end. An interrupt ends the work; while others still need this process as
// their server, a second one ends that too.
func (r *reach) run(e *env, work func(context.Context, *session) error) error {
	e.json = r.Output == "json"
	signal.Ignore(syscall.SIGPIPE) // whoever reads no more is found out by writing
	ctx, stop := interruptible()
	defer stop()
	l, err := r.connect(ctx, e)
	if err != nil {
		return err
	}
	err = r.explain(work(ctx, &session{l, e}))
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = context.Cause(ctx)
	}
	after, done := leavingTime(ctx)
	defer done()
	if closeErr := l.close(after); closeErr != nil && r.Verbose {
		fmt.Fprintln(e.stderr, "mcp-sandbox: let go of the server:", closeErr)
	}
	return err
}

// interrupted is why work ended that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return i.signal.String() }

// interruptible is done when a signal comes; the cause is [interrupted]. stop may
// be called again.
func interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	quit := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			n, _ := s.(syscall.Signal)
			cancel(interrupted{n})
		case <-quit:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(quit)
		cancel(nil)
	})
}

// leavingTime is how long others may be waited for: until the next signal, and
// not at all after one that asks for the end of the process.
func leavingTime(worked context.Context) (context.Context, func()) {
	ctx, stop := interruptible()
	var was interrupted
	if errors.As(context.Cause(worked), &was) && was.signal != syscall.SIGINT {
		stop()
	}
	return ctx, stop
}

// answer prints a result: its JSON, or one line of text.
func (s *session) answer(raw []byte, text string) error {
	if s.json {
		return s.print(append(bytes.TrimSpace(raw), '\n'))
	}
	return s.print([]byte(text + "\n"))
}

func (s *session) print(b []byte) error {
	_, err := s.stdout.Write(b)
	if err != nil {
		return &outputError{err}
	}
	return nil
}

// outputError is that standard output, or standard error, takes no more.
type outputError struct{ err error }

func (o *outputError) Error() string { return "write output: " + o.err.Error() }
func (o *outputError) Unwrap() error { return o.err }
