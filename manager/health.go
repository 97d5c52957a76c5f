package manager

import (
	"context"
	"time"
)

// healthTime bounds how long [Manager.Health] asks.
const healthTime = 2 * time.Second

// Health names the backend and tells whether it answers. While it is known not
// to, nobody has to wait to hear so: the reconciler finds out when that is over.
func (m *Manager) Health(ctx context.Context) (backend string, err error) {
	backend = m.backend.Name()
	if err := m.ctx.Err(); err != nil {
		return backend, closing()
	}
	if m.away.Load() {
		return backend, &Error{Kind: KindUnavailable, Message: "the container backend does not answer", Retryable: true}
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	_, err = m.backend.Probe(ctx)
	m.noteBackend(err)
	return backend, err
}
