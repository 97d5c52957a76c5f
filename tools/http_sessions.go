package tools

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// sessions are those of streamable HTTP, up to protocol version 2025-11-25. One
// belongs to the owner who began it and to nobody else, and is known by an ID
// that cannot be guessed. It keeps nothing but the calls that run in it, so that
// they can be cancelled.
type sessions struct {
	idle time.Duration
	most int // of each owner

	mu  sync.Mutex
	all map[string]*session
}

type session struct {
	id    string
	owner manager.Owner

	// Guarded by sessions.mu.
	seen  time.Time
	calls map[string]*inflight // by ID, as it was written
	over  bool

	pings pings
}

func newSessions(idle time.Duration, most int) *sessions {
	return &sessions{idle: idle, most: most, all: map[string]*session{}}
}

// begin makes a session. Where an owner has too many, the one that was idle
// longest gives way: clients that come back with it begin anew.
func (s *sessions) begin(o manager.Owner) *session {
	now := time.Now()
	n := &session{id: rand.Text(), owner: o, seen: now, calls: map[string]*inflight{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	var oldest *session
	for _, x := range s.all {
		if len(x.calls) == 0 && now.Sub(x.seen) > s.idle {
			delete(s.all, x.id)
			continue
		}
		if x.owner != o {
			continue
		}
		own++
		if len(x.calls) == 0 && (oldest == nil || x.seen.Before(oldest.seen)) {
			oldest = x
		}
	}
	if own >= s.most && oldest != nil {
		delete(s.all, oldest.id)
	}
	s.all[n.id] = n
	return n
}

// find is the only way from an ID to a session. Another owner's does not exist.
func (s *sessions) find(o manager.Owner, id string) (*session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[id]
	if x == nil || x.owner != o {
		return nil, false
	}
	if len(x.calls) == 0 && time.Since(x.seen) > s.idle {
		delete(s.all, id)
		return nil, false
	}
	x.seen = time.Now()
	return x, true
}

// end forgets a session and cancels what runs in it.
func (s *sessions) end(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, x.id)
	x.over = true
	for _, call := range x.calls {
		call.cancel()
	}
}

// enter notes a call, so that [sessions.cancel] finds it. leave tells whether
// the client has cancelled it, and so wants no answer.
func (s *sessions) enter(ctx context.Context, x *session, id string) (_ context.Context, leave func() (cancelled bool)) {
	ctx, cancel := context.WithCancel(ctx)
	call := &inflight{cancel: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.calls[id] = call
	if x.over {
		cancel()
	}
	return ctx, func() bool {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.calls[id] == call {
			delete(x.calls, id)
		}
		x.seen = time.Now()
		return call.cancelled
	}
}

// cancel ends a call on the client's word. That it is unknown is normal: the
// answer may be on its way.
func (s *sessions) cancel(x *session, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call := x.calls[id]; call != nil {
		call.cancelled = true
		call.cancel()
	}
}
