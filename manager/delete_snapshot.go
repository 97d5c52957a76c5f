package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// DeleteSnapshot deletes a snapshot. Sandboxes made from it have a copy and do
// not notice; a fork or rollback that is under way has the file open and ends
// well, and one that is about to open it is told that it is not found.
func (m *Manager) DeleteSnapshot(_ context.Context, o Owner, id schemas.SnapshotID) (err error) {
	defer m.observe("snapshot_delete", time.Now(), &err)
	if err := m.enlist(); err != nil {
		return err
	}
	defer m.tasks.Done()
	r, err := m.snaps.find(o, id)
	if err != nil {
		return err
	}
	if err := m.snaps.remove(r); err != nil {
		return err
	}
	m.log.Info("deleted snapshot", "snapshot", id)
	return nil
}
