package manager

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ListSnapshots describes the snapshots of an owner, oldest first: those taken
// of one sandbox, which may be gone by now, or with "" all of them.
func (m *Manager) ListSnapshots(_ context.Context, o Owner, sandbox schemas.SandboxID, p schemas.Page) (schemas.SnapshotList, error) {
	if sandbox != "" {
		if _, err := schemas.ParseSandboxID(string(sandbox)); err != nil {
			return schemas.SnapshotList{}, invalid("sandbox_id is %.64q: %v", string(sandbox), err)
		}
	}
	w, err := checkPage(p, snapshotPages, defaultPage, maxPage)
	if err != nil {
		return schemas.SnapshotList{}, err
	}
	page, next := pageOf(m.snaps.list(o, sandbox), snapshotKey, w)
	list := schemas.SnapshotList{Snapshots: []schemas.Snapshot{}, NextCursor: next}
	for _, r := range page {
		list.Snapshots = append(list.Snapshots, r.view())
	}
	return list, nil
}

func snapshotKey(r snapRecord) string { return ageKey(r.CreatedAt, string(r.ID)) }
