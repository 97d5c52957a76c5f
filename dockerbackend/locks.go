package dockerbackend

import (
	"context"
	"sync"
)

// locks lets calls for one container take turns. Removals overtake the rest:
// they cancel what makes or opens the container, so that a sandbox which cannot
// be opened can be destroyed at once, and nothing is made after it was removed.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	users  int                     // holder and waiting
	turn   chan struct{}           // holds a token while free
	cancel context.CancelCauseFunc // of a holder that may be overtaken
}

func newLocks() *locks { return &locks{held: map[string]*lock{}} }

// hold waits for name's turn. The context that it returns ends with ctx, or when
// a removal overtakes; release gives the turn to the next.
func (l *locks) hold(ctx context.Context, name string) (held context.Context, release func(), err error) {
	k, err := l.wait(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	held, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	k.cancel = cancel
	l.mu.Unlock()
	return held, func() {
		l.mu.Lock()
		k.cancel = nil
		l.mu.Unlock()
		cancel(context.Canceled)
		l.leave(name, k, true)
	}, nil
}

// overtake cancels who holds name, unless that is a removal too, and holds it.
func (l *locks) overtake(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	if k := l.held[name]; k != nil && k.cancel != nil {
		k.cancel(context.Canceled)
	}
	l.mu.Unlock()
	k, err := l.wait(ctx, name)
	if err != nil {
		return nil, err
	}
	return func() { l.leave(name, k, true) }, nil
}

func (l *locks) wait(ctx context.Context, name string) (*lock, error) {
	k := l.join(name)
	select {
	case <-k.turn:
		return k, nil
	case <-ctx.Done():
		l.leave(name, k, false)
		return nil, dockerError("wait for another call", context.Cause(ctx))
	}
}

func (l *locks) join(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[name]
	if k == nil {
		k = &lock{turn: make(chan struct{}, 1)}
		k.turn <- struct{}{}
		l.held[name] = k
	}
	k.users++
	return k
}

func (l *locks) leave(name string, k *lock, holder bool) {
	if holder {
		k.turn <- struct{}{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, name)
	}
}
