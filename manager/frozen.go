package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// A container that somebody froze from outside keeps its connection and never
// answers. So a call that takes long has the backend asked whether it may be
// that, and the sweep asks for calls that were frozen half-way.
const (
	// patientTime is how long a call may take before that is asked.
	patientTime = time.Second
	// frozenTime is how long a container must be frozen: a "docker commit"
	// freezes it for a moment, too.
	frozenTime = 2 * time.Second
)

// suspectLater has a visit looked after; stop ends that.
func (m *Manager) suspectLater(s *sandbox) (stop func() bool) {
	return time.AfterFunc(patientTime, func() {
		m.spawn(func() { m.dropFrozen(m.ctx, s) })
	}).Stop
}

// dropFrozen gives up the connection to a frozen container: calls inside end,
// and the next one is told by Open what is wrong.
func (m *Manager) dropFrozen(ctx context.Context, s *sandbox) {
	l := s.currentLink()
	guest := l.live()
	if guest == nil || !m.isFrozen(ctx, l) {
		return
	}
	select {
	case <-time.After(frozenTime):
	case <-guest.Done():
		return
	case <-ctx.Done():
		return
	}
	if m.isFrozen(ctx, l) {
		m.log.Warn("container is frozen from outside; giving up its connection", "sandbox", s.id)
		l.drop(guest)
		m.setStatus(s, l, schemas.StatusStopped)
	}
}

func (m *Manager) isFrozen(ctx context.Context, l *link) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	state, err := m.backend.Inspect(ctx, l.inc.Ref)
	return err == nil && state.Container == ContainerPaused
}
