package tools

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var rollbackTool = define(about{
	Name:  "rollback",
	Title: "Roll a sandbox back",
	Description: `Puts a sandbox's /workspace back to exactly what a snapshot holds, keeping the sandbox's id.

Everything since then is lost: later changes below /workspace, all of /tmp, and every running process (servers have to be started again; calls still running end with sandbox_gone). Take another snapshot first if the present state may still be wanted. The expiry does not change. If the rollback fails, the sandbox stays as it was. The snapshot may be of another sandbox.`,
	Hints: hints{Destructive: true, Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.RollbackArgs) (schemas.Sandbox, string, error) {
	s, err := c.Rollback(ctx, c.owner, in.SandboxID, in.RollbackRequest)
	return s, "rolled back " + sandboxText(s), err
})
