package dockerbackend

import (
	"context"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// How soon a call that nobody will answer is ended: first look, then the time
// for the guest's answer. A guest that is merely busy is given half a minute;
// it is served before all else in its sandbox, so more means that it hangs.
const (
	firstLook   = time.Second
	lookEvery   = 2 * time.Second
	helloLimit  = 1500 * time.Millisecond
	silentLimit = 30 * time.Second
)

// watch ends calls in flight when the guest cannot answer them any more and the
// connection does not show it: the container is paused, or Docker, which passes
// the bytes on, hangs. It looks only while there are calls.
type watch struct {
	hello   func(context.Context) error // does the guest answer?
	inspect func(context.Context) error // may it still answer? An error says why not
	lost    func()                      // ends the connection

	mu      sync.Mutex
	calls   map[*watchedCall]struct{}
	running bool
}

type watchedCall struct{ cancel context.CancelCauseFunc }

// begin adds a call; its context ends with the reason when there is no hope.
func (w *watch) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	call := &watchedCall{cancel}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[*watchedCall]struct{}{}
	}
	w.calls[call] = struct{}{}
	if !w.running {
		w.running = true
		go w.look()
	}
	return ctx, func() {
		w.mu.Lock()
		delete(w.calls, call)
		w.mu.Unlock()
		cancel(context.Canceled)
	}
}

// look runs while there are calls.
func (w *watch) look() {
	heard := time.Now() // from the guest
	away := 0           // looks in a row that found Docker away
	for pause := firstLook; ; pause = lookEvery {
		time.Sleep(pause)
		if !w.busy() {
			return
		}
		if w.answers() {
			heard, away = time.Now(), 0
			continue
		}
		err := w.inspect(context.Background())
		if !isUnavailable(err) {
			away = 0
		} else if away++; away < 2 {
			continue
		}
		switch {
		case manager.KindOf(err) == manager.KindLost, time.Since(heard) > silentLimit:
			w.lost()
		case err != nil:
			w.end(err)
		}
	}
}

func (w *watch) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), helloLimit)
	defer cancel()
	return w.hello(ctx) == nil
}

// busy tells whether to go on looking.
func (w *watch) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = len(w.calls) > 0
	return w.running
}

// end fails the calls in flight; the connection stays, for the container may be
// unpaused.
func (w *watch) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for call := range w.calls {
		call.cancel(err)
	}
}

// checkAlive tells why a guest that is silent will stay so.
func (b *Backend) checkAlive(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.docker.patience.Load().ping, errSilent)
	defer cancel()
	found, err := b.docker.inspectContainer(ctx, name)
	switch {
	case cerrdefs.IsNotFound(err), err == nil && !found.State.Running:
		return &manager.Error{Kind: manager.KindLost, Message: "the sandbox's container does not run"}
	case err == nil && found.State.Paused:
		return paused()
	}
	return err
}
