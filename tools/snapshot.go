package tools

import (
	"context"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var snapshotTool = define(about{
	Name:  "snapshot",
	Title: "Take a snapshot",
	Description: `Saves a sandbox's /workspace as a snapshot, and returns its id for rollback and fork.

Take one before anything risky, and whenever a state is worth keeping. It holds the files below /workspace with modes, times and links; not /tmp, not running processes, not memory. Running processes are paused while it is taken (pause: false lets them run, at the risk of files caught half-written) and then go on. Snapshots outlive the sandbox and stay until snapshot_delete. A name helps to find it again.`,
	Hints: hints{},
}, func(ctx context.Context, c *call, in schemas.SnapshotArgs) (schemas.Snapshot, string, error) {
	s, err := c.Snapshot(ctx, c.owner, in.SandboxID, in.SnapshotRequest)
	return s, "saved " + snapshotText(s), err
})

func snapshotText(s schemas.Snapshot) string {
	return fmt.Sprintf("%s%s: of %s at %s, %s, %s",
		s.ID, label(s.Name), s.SandboxID, s.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"), count(s.Files, "file"), bytesOf(s.SizeBytes))
}
