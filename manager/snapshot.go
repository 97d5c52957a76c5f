package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Snapshot saves a sandbox's workspace. Commands go on running; unless pause is
// false, none of them moves while the tar is made. Either all of it is kept,
// durably, or nothing.
func (m *Manager) Snapshot(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.SnapshotRequest) (_ schemas.Snapshot, err error) {
	defer m.observe("snapshot", time.Now(), &err)
	snap, err := m.snapshot(ctx, o, id, req)
	if err != nil {
		return schemas.Snapshot{}, err
	}
	return snap.view(), nil
}

func (m *Manager) snapshot(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.SnapshotRequest) (snap snapRecord, err error) {
	if err := checkName(req.Name); err != nil {
		return snap, err
	}
	v, err := m.claim(ctx, o, id, "snapshot")
	if err != nil {
		return snap, err
	}
	defer v.leave()
	if err := v.connect(); err != nil {
		return snap, v.explain(err)
	}
	pause := true
	set(&pause, req.Pause)
	err = v.twice(func(ctx context.Context, g Guest) error {
		snap, err = m.pack(ctx, g, v.s.record(), req.Name, pause)
		return err
	})
	if err != nil {
		return snap, v.explain(err)
	}
	m.log.Info("took snapshot", "snapshot", snap.ID, "sandbox", id, "bytes", snap.SizeBytes, "stored", snap.StoredBytes)
	return snap, nil
}

// pack streams the workspace into a draft and commits that.
func (m *Manager) pack(ctx context.Context, g Guest, of record, name string, pause bool) (snapRecord, error) {
	d, err := m.snaps.begin(m.cfg.MaxSnapshotBytes)
	if err != nil {
		return snapRecord{}, err
	}
	defer d.discard()
	stats, err := g.Pack(ctx, PackOptions{Path: Workspace, Zstd: true, MaxBytes: m.cfg.MaxSnapshotBytes, Pause: pause}, d)
	if d.err != nil {
		err = d.err // more than what became of it on its way through the guest
	}
	if err == nil {
		err = m.checkStats(stats)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if isKind(err, KindTooLarge) {
		err = m.tooLarge(err)
	}
	if err != nil {
		return snapRecord{}, err
	}
	return d.commit(snapRecord{
		Owner: of.Owner, Name: name, Sandbox: of.ID, Parent: of.Parent, Spec: of.Spec,
		SizeBytes: stats.Bytes, Files: stats.Files,
	})
}

// checkStats refuses totals that cannot be: they come from inside the sandbox.
func (m *Manager) checkStats(s ArchiveStats) error {
	if s.Bytes < 0 || s.Bytes > m.cfg.MaxSnapshotBytes || s.Files < 0 || s.Files > maxArchiveFiles {
		return fmt.Errorf("%d bytes and %d files: %w", s.Bytes, s.Files, errTarTooLarge)
	}
	return nil
}

func (m *Manager) tooLarge(cause error) *Error {
	return &Error{
		Kind:    KindTooLarge,
		Message: fmt.Sprintf("the workspace is more than a snapshot may hold, which is %d bytes as a tar, and %d files: %s", m.cfg.MaxSnapshotBytes, maxArchiveFiles, Public(cause).Message),
		Hint:    "Delete what is not needed, caches and downloads first, or move it to /tmp, which snapshots leave out.",
		Cause:   cause,
	}
}
