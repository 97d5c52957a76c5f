package dockerbackend

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// patience is how long Docker may take. Look-ups answer in milliseconds, on a
// very busy machine in a second or two.
type patience struct {
	pingEvery time.Duration // while something takes long
	ping      time.Duration
	look      time.Duration // a call that changes nothing
	work      time.Duration // one that does, while Docker answers pings
	destroy   time.Duration // for how long a removal is tried
}

var usualPatience = patience{
	pingEvery: 2 * time.Second,
	ping:      4 * time.Second,
	look:      8 * time.Second,
	work:      2 * time.Minute,
	destroy:   20 * time.Second,
}

// errSilent is a daemon that accepts calls and answers none, or not in time.
var errSilent = errors.New("no answer from Docker")

// engine calls Docker: it bounds the time of each call and types its error. The
// typed errors still answer errdefs predicates (IsNotFound and so on).
type engine struct {
	api      dockerAPI
	log      *slog.Logger
	patience atomic.Pointer[patience] // tests with a Docker that hangs have less

	flights    singleflight.Group
	negotiated atomic.Bool
}

func newEngine(api dockerAPI, log *slog.Logger) *engine {
	e := &engine{api: api, log: log}
	e.patience.Store(&usualPatience)
	return e
}

// look makes a call that changes nothing.
func look[T any](ctx context.Context, e *engine, doing string, f func(context.Context) (T, error)) (T, error) {
	return call(ctx, e, e.patience.Load().look, doing, f)
}

// work makes a call that changes something or takes long. The caller's leaving
// does not cut it off; a daemon that falls silent meanwhile does.
func work[T any](ctx context.Context, e *engine, doing string, f func(context.Context) (T, error)) (T, error) {
	if ctx.Err() != nil {
		var zero T
		return zero, dockerError(doing, context.Cause(ctx))
	}
	ctx, stop := e.whileAlive(context.WithoutCancel(ctx))
	defer stop()
	return call(ctx, e, e.patience.Load().work, doing, f)
}

// do makes a function without a result fit look and work.
func do(f func(context.Context) error) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) }
}

func call[T any](ctx context.Context, e *engine, limit time.Duration, doing string, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSilent)
	defer cancel()
	if err := e.negotiate(ctx); err != nil {
		var zero T
		return zero, dockerError(doing, err)
	}
	result, err := f(ctx)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return result, dockerError(doing, err)
}

// negotiate agrees on an API version once. Docker's client would do so by
// itself, but under a lock that it holds during the ping, so that on a silent
// daemon each caller would wait for all those before it.
func (e *engine) negotiate(ctx context.Context) error {
	if e.negotiated.Load() {
		return nil
	}
	done := e.flights.DoChan("negotiate", func() (any, error) { return nil, e.ping(context.Background()) })
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *engine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.patience.Load().ping, errSilent)
	defer cancel()
	ping, err := e.api.Ping(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		return err
	}
	if ping.APIVersion == "" { // Docker's client would fall back to its oldest version, for ever
		return errNonsense
	}
	if !e.negotiated.Load() {
		e.flights.Do("agree", func() (any, error) {
			e.api.NegotiateAPIVersionPing(ping)
			e.negotiated.Store(true)
			return nil, nil
		})
	}
	return nil
}

// whileAlive ends the context when two pings in a row get no answer, so that a
// call with a generous limit does not wait for a daemon that hangs.
func (e *engine) whileAlive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for failed := 0; failed < 2; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(e.patience.Load().pingEvery):
			}
			if e.ping(ctx) == nil {
				failed = 0
			} else {
				failed++
			}
		}
		cancel(errSilent)
	}()
	return ctx, func() { cancel(context.Canceled) }
}
