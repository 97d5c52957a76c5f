package manager

import (
	"context"
	"time"
)

// Orphan is a thing in the backend that is ours by its label and that no record
// knows, so nobody will ever use or remove it.
type Orphan struct{ Found }

// youngAge is how old a thing must be to be an orphan when it was made since
// this server started: the backend makes things of its own, such as a container
// to prepare an image in, that no record knows and that are soon gone.
const youngAge = 15 * time.Minute

// abandoned tells whether f is an orphan: unknown, and either from before this
// server's time or too old to be part of something in progress.
func abandoned(f Found, known map[string]bool, started, now time.Time) bool {
	return !known[f.Name] && (f.Created.Before(started) || now.Sub(f.Created) > youngAge)
}

// Orphans lists what RemoveOrphans would remove: its dry run. Records are read
// after the backend was asked: what is in the answer was recorded before it was
// made, so what has no record now belongs to nothing in flight.
func (m *Manager) Orphans(ctx context.Context) ([]Orphan, error) {
	found, err := m.backend.List(ctx)
	if err != nil {
		return nil, err
	}
	known, now := m.knownNames(), time.Now()
	var orphans []Orphan
	for _, f := range found {
		if abandoned(f, known, m.started, now) {
			orphans = append(orphans, Orphan{f})
		}
	}
	return orphans, nil
}

// RemoveOrphans removes them; one that resists does not protect the others.
func (m *Manager) RemoveOrphans(ctx context.Context) error {
	orphans, err := m.Orphans(ctx)
	for _, o := range orphans {
		m.log.Info("remove orphan", "kind", o.Kind, "name", o.Name)
		if e := m.backend.RemoveFound(ctx, o.Found); e != nil {
			m.log.Warn("remove orphan; trying again later", "name", o.Name, "error", e)
			err = e
		}
	}
	return err
}

func (m *Manager) knownNames() map[string]bool {
	known := map[string]bool{}
	m.pool.names(known) // first: what leaves the pool meanwhile is in a record by then
	for _, s := range m.all() {
		r := s.record()
		for _, ref := range r.refs() {
			known[ref.Container], known[ref.Volume] = true, true
		}
	}
	return known
}
