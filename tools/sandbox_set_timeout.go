package tools

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var sandboxSetTimeout = define(about{
	Name:  "sandbox_set_timeout",
	Title: "Set a sandbox's time to live",
	Description: `Sets how long a sandbox goes on to live, in seconds counted from now, and returns the sandbox with its new expires_at.

Nothing else extends a sandbox's life: not running commands, not reading files. Call this before a long task, well before expires_at. It can shorten the time as well. The most is {{.MaxTimeoutSeconds}} seconds ({{time .MaxTimeoutSeconds}}).`,
	Hints: hints{Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.SetTimeoutArgs) (schemas.Sandbox, string, error) {
	s, err := c.SetTimeout(ctx, c.owner, in.SandboxID, in.SetTimeoutRequest)
	return s, sandboxText(s), err
})
