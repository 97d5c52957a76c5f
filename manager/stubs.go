package manager

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (m *Manager) Snapshot(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.SnapshotRequest) (schemas.Snapshot, error) {
	panic("stub")
}
func (m *Manager) GetSnapshot(ctx context.Context, o Owner, id schemas.SnapshotID) (schemas.Snapshot, error) {
	panic("stub")
}

// ListSnapshots: sandbox "" lists those of all sandboxes.
func (m *Manager) ListSnapshots(ctx context.Context, o Owner, sandbox schemas.SandboxID, p schemas.Page) (schemas.SnapshotList, error) {
	panic("stub")
}
func (m *Manager) DeleteSnapshot(ctx context.Context, o Owner, id schemas.SnapshotID) error {
	panic("stub")
}
func (m *Manager) Rollback(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.RollbackRequest) (schemas.Sandbox, error) {
	panic("stub")
}

// Fork makes req.Count (default 1) sandboxes from a snapshot. With one fork asked for, its failure is the error;
// with several the result reports each.
func (m *Manager) Fork(ctx context.Context, o Owner, id schemas.SnapshotID, req schemas.ForkRequest) (schemas.ForkResult, error) {
	panic("stub")
}

// ForkSandbox snapshots a running sandbox, keeps the snapshot as parent, and forks from it.
func (m *Manager) ForkSandbox(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ForkRequest) (schemas.ForkResult, error) {
	panic("stub")
}
