package dockerbackend

import (
	"context"
	"sync"
)

// locks lets calls for one container take turns. A Remove overtakes the rest: it
// cancels who holds the lock, so that a sandbox which cannot be opened can still
// be destroyed at once, and nothing is made again after it was removed.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	users  int           // holder and waiting
	turn   chan struct{} // holds a token while free
	cancel context.CancelCauseFunc
}

func newLocks() *locks { return &locks{held: map[string]*lock{}} }

// hold waits for name's turn. The context that it returns ends with ctx, or when
// somebody overtakes; release gives the turn to the next.
func (l *locks) hold(ctx context.Context, name string) (held context.Context, release func(), err error) {
	k := l.join(name)
	select {
	case <-k.turn:
	case <-ctx.Done():
		l.leave(name, k)
		return nil, nil, dockerError("wait for another call", context.Cause(ctx))
	}
	held, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	k.cancel = cancel
	l.mu.Unlock()
	return held, func() { l.release(name, k) }, nil
}

// overtake cancels the holder of name, if there is one, and then holds it.
func (l *locks) overtake(ctx context.Context, name string) (context.Context, func(), error) {
	l.mu.Lock()
	if k := l.held[name]; k != nil && k.cancel != nil {
		k.cancel(context.Canceled)
	}
	l.mu.Unlock()
	return l.hold(ctx, name)
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

func (l *locks) release(name string, k *lock) {
	l.mu.Lock()
	k.cancel(context.Canceled)
	k.cancel = nil
	l.mu.Unlock()
	k.turn <- struct{}{}
	l.leave(name, k)
}

func (l *locks) leave(name string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, name)
	}
}
