package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// door is what all calls share.
type door struct {
	core  core
	log   *slog.Logger
	edits pathLocks
}

// handler puts around a tool what every tool needs. It never returns an error:
// that would be a JSON-RPC error, which no model gets to see.
func (d *door) handler(t tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		start := time.Now()
		result, err := d.run(ctx, t, req)
		if err != nil {
			result = failure(ctx, err)
		}
		d.report(ctx, t.Name, time.Since(start), result.IsError, err)
		return result, nil
	}
}

func (d *door) run(ctx context.Context, t tool, req mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	owner, ok := ownerOf(ctx)
	if !ok {
		return nil, errors.New("the transport named no owner for the call")
	}
	return t.handle(ctx, &call{
		core:      d.core,
		owner:     owner,
		arguments: arguments(req),
		token:     progressToken(ctx, req),
		edits:     &d.edits,
	})
}

// report logs one line a call. Only failures of ours are errors.
func (d *door) report(ctx context.Context, name string, took time.Duration, failed bool, err error) {
	level := slog.LevelInfo
	attrs := []slog.Attr{slog.String("tool", name), slog.Int64("took_ms", took.Milliseconds()), slog.Bool("failed", failed)}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
		if isInternal(ctx, err) {
			level = slog.LevelError
		}
	}
	d.log.LogAttrs(ctx, level, "tool call", attrs...)
}

// arguments are the call's as they came, since a trip through float64 would
// change large numbers. A call without any has none.
func arguments(req mcp.CallToolRequest) json.RawMessage {
	raw := req.Params.RawArguments
	if len(raw) == 0 && req.Params.Arguments != nil { // a client in this process
		raw, _ = json.Marshal(req.Params.Arguments)
	}
	var text string // some clients encode them twice
	if json.Unmarshal(raw, &text) == nil && (text == "" || strings.HasPrefix(strings.TrimSpace(text), "{")) {
		raw = json.RawMessage(text)
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

func progressToken(ctx context.Context, req mcp.CallToolRequest) mcp.ProgressToken {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok && x.token != nil {
		return x.token
	}
	if req.Params.Meta == nil {
		return nil
	}
	return req.Params.Meta.ProgressToken
}
