package tools

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var forkTool = withOutput[schemas.ForkResult](defineRaw(about{
	Name:  "fork",
	Title: "Fork sandboxes",
	Description: `Makes new sandboxes whose /workspace starts as a snapshot, or as a running sandbox is now.

Give snapshot_id; or sandbox_id, and a snapshot of it is taken first and kept. count makes several at once, to try different ways in parallel; each is independent from then on, with its own id and its own full time to live. Files below /workspace are copied; processes, /tmp and memory are not. Image, limits and environment are the source's unless given here. Every fork counts against the limit of sandboxes. When only some could be made, sandboxes lists those and errors says why the others were not.`,
	Hints: hints{},
}, runFork))

func runFork(ctx context.Context, c *call, in schemas.ForkArgs) (*mcp.CallToolResult, error) {
	if err := exactlyOne("snapshot_id", in.SnapshotID != "", "sandbox_id", in.SandboxID != ""); err != nil {
		return nil, err
	}
	if _, err := within("count", in.Count, 1, 1, 20); err != nil {
		return nil, err
	}
	result, err := c.fork(ctx, in)
	if err != nil {
		return nil, err
	}
	if len(result.Sandboxes) == 0 && len(result.Errors) > 0 { // nothing was done
		return mcp.NewToolResultError(failureText(result.Errors[0])), nil
	}
	return structured(result, forkText(result))
}

func (c *call) fork(ctx context.Context, in schemas.ForkArgs) (schemas.ForkResult, error) {
	if in.SandboxID != "" {
		return c.ForkSandbox(ctx, c.owner, in.SandboxID, in.ForkRequest)
	}
	return c.Fork(ctx, c.owner, in.SnapshotID, in.ForkRequest)
}

func forkText(r schemas.ForkResult) string {
	text := listText("sandboxes made", r.Sandboxes, "", sandboxText)
	if len(r.Errors) > 0 {
		text += fmt.Sprintf("\n%d could not be made. The first: %s", len(r.Errors), failureText(r.Errors[0]))
	}
	return text
}
