package tools

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var sandboxDestroy = define(about{
	Name:  "sandbox_destroy",
	Title: "Destroy a sandbox",
	Description: `Destroys a sandbox with its files and running processes, for good.

Do it when a task is done, or when the limit of sandboxes is reached. Snapshots taken of it stay and can still be forked. Running calls in it end with sandbox_gone. To keep files, take a snapshot or read them first.`,
	Hints: hints{Destructive: true, Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.InSandbox) (schemas.Destroyed, string, error) {
	err := c.Destroy(ctx, c.owner, in.SandboxID)
	return schemas.Destroyed{SandboxID: in.SandboxID, Destroyed: true}, "destroyed " + string(in.SandboxID), err
})
