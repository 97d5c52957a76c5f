package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	// lookTime bounds one look at a sandbox in the backend.
	lookTime = 3 * time.Second
	// freshTime is how long a look is good for.
	freshTime = 2 * time.Second
)

// watch looks again when a guest is lost: its container may have died with it.
func (m *Manager) watch(s *sandbox, l *link, guest Guest) {
	m.spawn(func() {
		select {
		case <-guest.Done():
			m.look(m.ctx, s)
		case <-l.end:
		case <-m.ctx.Done():
		}
	})
}

// look finds out the status of a sandbox that nobody is connected to. When the
// backend does not answer, the reconciler looks once it does.
func (m *Manager) look(ctx context.Context, s *sandbox) {
	l := s.currentLink()
	if l.live() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	state, err := m.backend.Inspect(ctx, l.inc.Ref)
	if err != nil {
		m.noteBackend(err)
		m.log.Debug("look at sandbox", "sandbox", s.id, "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.liveLocked() == nil && l.opening == nil {
		m.setStatus(s, l, statusOf(state))
	}
}

func statusOf(state State) schemas.Status {
	switch {
	case !state.Volume:
		return schemas.StatusFailed
	case state.Container == ContainerRunning:
		return schemas.StatusRunning
	default:
		return schemas.StatusStopped
	}
}

// setStatus says what was found out through a link, unless the sandbox has a
// new incarnation since.
func (m *Manager) setStatus(s *sandbox, l *link, status schemas.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l {
		return
	}
	if s.status != status {
		m.log.Debug("sandbox status", "sandbox", s.id, "status", status)
	}
	s.status, s.looked = status, time.Now()
}

// refresh looks at a sandbox again when what is known of it is old.
func (m *Manager) refresh(ctx context.Context, s *sandbox) {
	s.mu.Lock()
	fresh := time.Since(s.looked) < freshTime
	s.mu.Unlock()
	if !fresh && !m.away.Load() {
		m.look(ctx, s)
	}
}

func (m *Manager) noteOpenFailed(s *sandbox, l *link, err error) {
	m.log.Warn("open sandbox", "sandbox", s.id, "error", err)
	m.noteBackend(err)
	switch {
	case isKind(err, KindFailed):
		m.setStatus(s, l, schemas.StatusFailed)
	case !isKind(err, KindUnavailable):
		m.setStatus(s, l, schemas.StatusStopped)
	}
}

// noteBackend wakes the reconciler when the backend turns out to be away.
func (m *Manager) noteBackend(err error) {
	if isKind(err, KindUnavailable) {
		m.wakeReconciler()
	}
}

// noteFailed has the reconciler look for what a backend may have left over that
// could not make something, such as the container an image is prepared in.
func (m *Manager) noteFailed(err error) {
	if isKind(err, KindBackend) || isKind(err, KindUnavailable) {
		m.wakeReconciler()
	}
}

func (m *Manager) wakeReconciler() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
