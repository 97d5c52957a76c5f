package manager

import (
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// armLocked sets the sandbox's timer to its expiry. The reaper's sweep is
// behind it, for sleep, in which timers stand still, and for removals that fail.
func (m *Manager) armLocked(s *sandbox) {
	if s.rec.State != stateRunning && s.rec.State != stateRollingBack {
		if s.expiry != nil {
			s.expiry.Stop()
		}
		return
	}
	left := max(s.rec.left(m.now()), 0)
	if s.expiry == nil {
		s.expiry = time.AfterFunc(left, func() { m.spawn(func() { m.expire(s) }) })
		return
	}
	s.expiry.Reset(left)
}

func (m *Manager) arm(s *sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.armLocked(s)
}

func (s *sandbox) stopTimer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expiry != nil {
		s.expiry.Stop()
	}
}

// expire destroys a sandbox whose time has come. A timer that fires just as the
// sandbox is renewed finds it not due, and the renewal has set the next.
func (m *Manager) expire(s *sandbox) {
	due := func(r record) bool { return r.State != stateCreating && r.expired(m.now()) }
	if condemned, _ := m.condemn(s, ReasonExpired, due); !condemned {
		return
	}
	faults.Point("reap.condemned")
	m.log.Info("sandbox expired", "sandbox", s.id)
	m.event(EventReaped)
	m.finishLater(s)
}
