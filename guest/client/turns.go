package client

import (
	"context"
	"sync"
)

// turns lets calls of one name happen one after the other. They wait here and
// not in the guest, where each that waits would take a part of the connection's
// window.
type turns struct {
	mu    sync.Mutex
	queue map[string]*turn
}

type turn struct {
	free    chan struct{}
	waiting int // those in it and before it
}

// enter waits for the turn, until ctx or the channel ends.
func (t *turns) enter(ctx context.Context, conn *conn, name string) (leave func(), err error) {
	at := t.join(name)
	select {
	case at.free <- struct{}{}:
		return func() {
			<-at.free
			t.part(name, at)
		}, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-conn.ctx.Done():
		err = conn.err()
	}
	t.part(name, at)
	return nil, err
}

func (t *turns) join(name string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue == nil {
		t.queue = map[string]*turn{}
	}
	at := t.queue[name]
	if at == nil {
		at = &turn{free: make(chan struct{}, 1)}
		t.queue[name] = at
	}
	at.waiting++
	return at
}

func (t *turns) part(name string, at *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.waiting--; at.waiting == 0 {
		delete(t.queue, name)
	}
}
