package manager

import (
	"context"
	"time"
)

// reapLoop sweeps behind the timers.
func (m *Manager) reapLoop() {
	tick := time.NewTicker(max(m.cfg.ReapInterval, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.sweep()
		case <-m.ctx.Done():
			return
		}
	}
}

// sweep looks after every sandbox once, each by itself, so that a slow one
// holds up no other.
func (m *Manager) sweep() {
	for _, s := range m.all() {
		if s.tended.CompareAndSwap(false, true) {
			if !m.spawn(func() { defer s.tended.Store(false); m.tend(s) }) {
				s.tended.Store(false)
			}
		}
	}
}

// tend does what is due for one sandbox: this is all that reconciling a record
// with the backend takes, at start as at any later time.
func (m *Manager) tend(s *sandbox) {
	r := s.record()
	switch {
	case r.State == stateCreating:
		// its creator cleans up
	case r.State == stateDestroying:
		_ = m.finish(m.ctx, s) // logs by itself
	case r.expired(m.now()):
		m.expire(s)
	default:
		m.keepTime(s)
		m.lookInTurn(s)
		m.dropFrozen(m.ctx, s)
		m.tendDeadline(s)
		m.tendRollback(s)
		m.tendStale(s)
	}
}

// maxLooks is how many sandboxes a sweep looks at in the backend at a time: after
// a start it is all of them.
const maxLooks = 16

func (m *Manager) lookInTurn(s *sandbox) {
	if m.looking.Acquire(m.ctx, 1) == nil {
		defer m.looking.Release(1)
		m.look(m.ctx, s)
	}
}

func (m *Manager) tendStale(s *sandbox) {
	if len(s.record().Stale) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(m.ctx, cleanupTime)
	defer cancel()
	if err := m.dropStale(ctx, s); err != nil {
		m.log.Warn("remove old incarnation; trying again later", "sandbox", s.id, "error", err)
	}
}
