package tools

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var snapshotDelete = define(about{
	Name:  "snapshot_delete",
	Title: "Delete a snapshot",
	Description: `Deletes a snapshot for good.

Sandboxes made from it, and the one it was taken of, are not affected.`,
	Hints: hints{Destructive: true, Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.SnapshotDeleteArgs) (schemas.Deleted, string, error) {
	err := c.DeleteSnapshot(ctx, c.owner, in.SnapshotID)
	return schemas.Deleted{SnapshotID: in.SnapshotID, Deleted: true}, "deleted " + string(in.SnapshotID), err
})
