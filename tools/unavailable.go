package tools

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// errEnding is what calls are told that the server's own end cuts short.
var errEnding = &manager.Error{
	Kind: manager.KindUnavailable, Message: "the server is shutting down", Retryable: true,
	Hint: "Try again when it is back; sandboxes are kept.",
}

// unavailable answers a request that nobody will work on any more. For a call of
// a tool that is a result, as a model gets to see nothing else. modern is for
// protocol versions from 2026-07-28 on.
func unavailable(id json.RawMessage, method string, modern bool, why *manager.Error) any {
	public := manager.Public(why)
	if method != string(mcp.MethodToolsCall) {
		return rpcError(id, mcp.INTERNAL_ERROR, public.Message)
	}
	result := mcp.NewToolResultError(failureText(public))
	if modern {
		result.ResultType = mcp.ResultTypeComplete
	}
	return mcp.NewJSONRPCResultResponse(mcp.NewRequestId(id), result)
}
