package tools

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// about is what a model, and the person who approves its calls, see of a tool.
type about struct {
	Name        string // letters and _, short: clients put their own prefix before it
	Title       string
	Description string // a template over [facts]; at most 2 KB, the rest is cut by Claude Code
	Hints       hints
	MaxResult   int // characters, where a caller can ask for more than clients take by default
}

// hints let clients decide what to ask the user about, and what to run in
// parallel. A missing hint counts as the worst, so each tool states all four.
type hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may lose data
	Idempotent  bool // a second call changes nothing more
	OpenWorld   bool // may reach beyond the server
}

// tool is a definition with its handler. The definition is complete once it is
// rendered.
type tool struct {
	mcp.Tool
	input  func(describe ...func(name, text string) string) json.RawMessage
	handle func(ctx context.Context, c *call) (*mcp.CallToolResult, error)
}

// call is one tools/call in progress: the manager, and who is asking.
type call struct {
	core
	owner     manager.Owner
	arguments json.RawMessage
	token     mcp.ProgressToken // nil when the caller wants no progress
	edits     *pathLocks
}

// define makes a tool whose result is an Out, said again in a text that is never
// blank (the Anthropic API refuses blank ones).
func define[In, Out any](a about, handle func(context.Context, *call, In) (Out, string, error)) tool {
	return withOutput[Out](defineRaw(a, func(ctx context.Context, c *call, in In) (*mcp.CallToolResult, error) {
		out, text, err := handle(ctx, c, in)
		if err != nil {
			return nil, err
		}
		return structured(out, text)
	}))
}

// withOutput promises that a result without isError carries an Out.
func withOutput[Out any](t tool) tool {
	t.RawOutputSchema = schemas.OutputSchema[Out]()
	return t
}

// defineRaw makes a tool that builds its own result, and promises no schema.
func defineRaw[In any](a about, handle func(context.Context, *call, In) (*mcp.CallToolResult, error)) tool {
	t := mcp.NewToolWithRawSchema(a.Name, a.Description, nil)
	t.Title = a.Title
	t.Annotations = mcp.ToolAnnotation{
		Title:           a.Title,
		ReadOnlyHint:    &a.Hints.ReadOnly,
		DestructiveHint: &a.Hints.Destructive,
		IdempotentHint:  &a.Hints.Idempotent,
		OpenWorldHint:   &a.Hints.OpenWorld,
	}
	if a.MaxResult > 0 {
		t.Meta = mcp.NewMetaFromMap(map[string]any{"anthropic/maxResultSizeChars": a.MaxResult})
	}
	return tool{t, schemas.InputSchema[In], func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		var in In
		if err := schemas.DecodeArgs(c.arguments, &in); err != nil {
			return nil, err
		}
		return handle(ctx, c, in)
	}}
}

// rendered is the tool as clients of a server with these settings see it.
func (t tool) rendered(f facts) mcp.Tool {
	t.Description = f.render(t.Description)
	t.RawInputSchema = t.input(func(argument, text string) string { return f.describe(t.Name, argument, text) })
	return t.Tool
}

func structured(out any, text string) (*mcp.CallToolResult, error) {
	content, err := schemas.Result(out)
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultStructured(content, text), nil
}
