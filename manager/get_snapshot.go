package manager

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// GetSnapshot describes one snapshot of an owner.
func (m *Manager) GetSnapshot(_ context.Context, o Owner, id schemas.SnapshotID) (schemas.Snapshot, error) {
	r, err := m.snaps.find(o, id)
	if err != nil {
		return schemas.Snapshot{}, err
	}
	return r.view(), nil
}
