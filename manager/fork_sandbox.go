package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ForkSandbox forks a sandbox as it is now: it takes a snapshot, which is kept
// as the forks' parent, and forks from that. When there is no fork in the end
// there is no snapshot either.
func (m *Manager) ForkSandbox(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ForkRequest) (_ schemas.ForkResult, err error) {
	defer m.observe("fork_sandbox", time.Now(), &err)
	if err := m.checkForkSandbox(ctx, o, id, req); err != nil {
		return schemas.ForkResult{}, err
	}
	if err := m.enlist(); err != nil {
		return schemas.ForkResult{}, err
	}
	defer m.tasks.Done()
	snap, err := m.snapshot(ctx, o, id, schemas.SnapshotRequest{})
	if err != nil {
		return schemas.ForkResult{}, err
	}
	faults.Point("fork.saved")
	r, err := m.Fork(ctx, o, snap.ID, req)
	if len(r.Sandboxes) == 0 {
		if err := m.snaps.remove(snap); err != nil && !isKind(err, KindNotFound) {
			m.log.Warn("remove snapshot of a fork that failed", "snapshot", snap.ID, "error", err)
		}
	}
	return r, err
}

// checkForkSandbox finds a request that cannot be met before anything is made.
func (m *Manager) checkForkSandbox(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ForkRequest) error {
	s, err := m.find(o, id)
	if err != nil {
		return err
	}
	if _, err := forkCount(req); err != nil {
		return err
	}
	_, err = m.planFork(ctx, snapRecord{Owner: o, Spec: s.record().Spec}, req)
	return m.explain(err)
}
