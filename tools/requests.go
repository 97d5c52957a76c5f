package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// What clients ask for besides tools: resources, prompts and completions. Here no
// model sees the answer before its client does, so a failure is a JSON-RPC error:
// code, message and hint are in its message, and in its data.

// maxAsked is the longest such request. They hold a few names.
const maxAsked = 64 << 10

// bounded refuses long ones before anything looks at what they say.
func bounded(_ context.Context, _ any, message any) error {
	raw, _ := message.(json.RawMessage)
	if len(raw) <= maxAsked {
		return nil
	}
	switch e := readEnvelope(raw); mcp.MCPMethod(e.Method) {
	case mcp.MethodResourcesRead, mcp.MethodPromptsGet, mcp.MethodCompletionComplete:
		return fmt.Errorf("a %s request may have %d bytes, this one has %d", e.Method, maxAsked, len(raw))
	}
	return nil
}

// asked puts around a request what every one needs: whose it is, a line in the
// log, and what its failure is to its client.
func asked[T any](ctx context.Context, d *door, what string, answer func(manager.Owner) (T, error)) (result T, err error) {
	start := time.Now()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		d.report(ctx, what, time.Since(start), err != nil, err)
		err = asRPCError(ctx, mcp.MCPMethod(what), err)
	}()
	owner, ok := ownerOf(ctx)
	if !ok {
		return result, errors.New("the transport named no owner for the request")
	}
	return answer(owner)
}

// asRPCError leaves for the transport what mcp-go has no way to say: it makes an
// internal error of whatever a handler returns.
func asRPCError(ctx context.Context, method mcp.MCPMethod, err error) error {
	if err == nil {
		return nil
	}
	if why := (*manager.Error)(nil); errors.As(context.Cause(ctx), &why) {
		err = why
	}
	e := public(err)
	if e.Hint == "" {
		e.Hint = advice[e.Code]
	}
	text := failureText(e)
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		details := mcp.NewJSONRPCErrorDetails(rpcCode(ctx, method, e.Code), text, e)
		x.failed = &details
	}
	return errors.New(text)
}

func rpcCode(ctx context.Context, method mcp.MCPMethod, code schemas.Code) int {
	switch code {
	case schemas.CodeNotFound:
		if method == mcp.MethodResourcesRead && !mcp.IsModernProtocol(server.RequestProtocolVersion(ctx)) {
			return mcp.RESOURCE_NOT_FOUND
		}
		return mcp.INVALID_PARAMS
	case schemas.CodeInvalidRequest, schemas.CodeForbidden, schemas.CodePayloadTooLarge:
		return mcp.INVALID_PARAMS
	}
	return mcp.INTERNAL_ERROR
}
