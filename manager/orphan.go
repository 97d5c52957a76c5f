package manager

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// Orphan is a thing in the backend that is ours by its label and that no record
// knows, so nobody will ever use or remove it.
type Orphan struct{ Found }

// Orphans lists what RemoveOrphans would remove: its dry run. Records are read
// after the backend was asked: what is in the answer was recorded before it was
// made, so what has no record now belongs to nothing in flight.
func (m *Manager) Orphans(ctx context.Context) ([]Orphan, error) {
	found, err := m.backend.List(ctx)
	if err != nil {
		return nil, err
	}
	known := m.knownNames()
	var orphans []Orphan
	for _, f := range found {
		if !known[f.Name] {
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
		faults.Point("reconcile.orphan")
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
