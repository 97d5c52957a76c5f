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
	s.telling.Lock()
	defer s.telling.Unlock()
	if err := guest.SetDeadline(ctx, s.record().remaining(m.now())); err != nil {
		return fmt.Errorf("set deadline of guest: %w", err)
	}
	return nil
}

func (r record) remaining(now Instant) time.Duration {
	if r.State == stateCreating {
		return creationTime
	}
	return max(r.left(now), 0) + deadlineSlack
}
