package manager

import (
	"context"
	"fmt"
	"time"
)

const (
	// deadlineSlack lets the server act first on expiry; the guest's own
	// deadline is for when there is no server.
	deadlineSlack = 2 * time.Second
	// creationTime is for one whose server dies before it is complete.
	creationTime = 30 * time.Minute
	// deadlineTime bounds telling it.
	deadlineTime = 5 * time.Second
)

// tellDeadline tells a guest how long its sandbox may still live. What is told
// last is never older than the record.
func (m *Manager) tellDeadline(ctx context.Context, s *sandbox, guest Guest) error {
	ctx, cancel := context.WithTimeout(ctx, deadlineTime)
	defer cancel()
	if err := s.telling.lock(ctx); err != nil {
		s.untold.Store(true)
		return fmt.Errorf("wait to set the deadline of guest: %w", err)
	}
	defer s.telling.unlock()
	err := guest.SetDeadline(ctx, s.record().remaining(m.now()))
	s.untold.Store(err != nil)
	if err != nil {
		return fmt.Errorf("set deadline of guest: %w", err)
	}
	return nil
}

// tendDeadline tells a guest again that did not take what it was told last.
func (m *Manager) tendDeadline(s *sandbox) {
	if s.untold.Load() {
		m.tellNewDeadline(m.ctx, s)
	}
}

func (r record) remaining(now Instant) time.Duration {
	if r.State == stateCreating {
		return creationTime
	}
	return max(r.left(now), 0) + deadlineSlack
}
