package manager

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// An Observer is told what happens, for counting. It must not block. What is
// true at a moment, and no event, is in [Stats].
type Observer interface {
	// Operation tells of an operation that has ended: its name, as "exec", and
	// "ok", "cancelled" or the code of its error.
	Operation(name, outcome string, took time.Duration)
	// Event tells of something that the manager did by itself.
	Event(Event)
}

// Event is something that happens without anybody asking for it.
type Event string

const (
	EventReaped      Event = "reaped"       // a sandbox has expired and is destroyed
	EventReconciled  Event = "reconciled"   // records and backend were compared
	EventReconnected Event = "reconnected"  // a guest whose connection was lost, or never made, answers
	EventPoolClaimed Event = "pool_claimed" // a spare has become a sandbox, or its new incarnation
	EventPoolMissed  Event = "pool_missed"  // there was no spare for one

	EventRemovalFailed Event = "removal_failed" // of a destroyed or expired sandbox; it is tried again
)

// observe is deferred by every operation; err is where its error will be.
func (m *Manager) observe(name string, start time.Time, err *error) {
	if m.cfg.Observer != nil {
		m.cfg.Observer.Operation(name, outcome(*err), time.Since(start))
	}
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case KindOf(err) == KindInternal && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return "cancelled"
	}
	return string(KindOf(err).Code())
}

func (m *Manager) event(e Event) {
	if m.cfg.Observer != nil {
		m.cfg.Observer.Event(e)
	}
}

// Stats is how much there is of everything at a moment.
type Stats struct {
	Sandboxes     map[schemas.Status]int
	Condemned     int // destroyed or expired, and not yet removed
	Execs         int // running
	Spares        int // ready in the pool
	Snapshots     int
	SnapshotBytes int64 // on disk
}

// Stats counts. It asks nobody, so it is quick and may be a little late.
func (m *Manager) Stats() Stats {
	s := Stats{Sandboxes: map[schemas.Status]int{
		schemas.StatusRunning: 0, schemas.StatusStopped: 0, schemas.StatusFailed: 0,
	}}
	now := m.now()
	for _, x := range m.all() {
		x.mu.Lock()
		if x.rec.live(now) {
			s.Sandboxes[x.status]++
		}
		if x.rec.State == stateDestroying {
			s.Condemned++
		}
		s.Execs += x.execs
		x.mu.Unlock()
	}
	s.Snapshots, s.SnapshotBytes = m.snaps.size()
	s.Spares = m.pool.count()
	return s
}

// size is how many there are, and their bytes on disk.
func (s *snapStore) size() (n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.snaps {
		bytes += r.StoredBytes
	}
	return len(s.snaps), bytes
}
