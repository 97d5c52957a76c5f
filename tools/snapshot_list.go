package tools

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var snapshotList = define(about{
	Name:  "snapshot_list",
	Title: "List snapshots",
	Description: `Lists the snapshots there are, oldest first, of all sandboxes or of one.

Snapshots of sandboxes that are gone are listed too. Their ids can be passed to fork, rollback and snapshot_delete.`,
	Hints: hints{ReadOnly: true, Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.SnapshotListArgs) (schemas.SnapshotList, string, error) {
	return listed(in.PageArgs, 50, snapshotListText, func(p schemas.Page) (schemas.SnapshotList, error) {
		return c.ListSnapshots(ctx, c.owner, in.SandboxID, p)
	})
})

func snapshotListText(l schemas.SnapshotList) string {
	return listText("snapshots", l.Snapshots, l.NextCursor, snapshotText)
}
