package tools

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// envelope is what has to be known of a message to pass it on.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// readEnvelope takes what it can: what is wrong with a message mcp-go will say.
func readEnvelope(message []byte) (e envelope) {
	_ = json.Unmarshal(message, &e)
	return e
}

// batchRefused is said to a batch, several messages in one array. Of all protocol
// versions only 2025-03-26 has them, and no client that is known sends any.
const batchRefused = "a batch of messages is not taken: send them one by one"

func isBatch(message []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(message, " \t\r\n"), []byte("["))
}

func (e envelope) hasID() bool { return len(e.ID) > 0 && string(e.ID) != "null" }

// isResponse: to a request of the server's, of which there is only the ping.
func (e envelope) isResponse() bool { return e.Method == "" && (e.Result != nil || e.Error != nil) }

// cancelledID is the request that a notifications/cancelled is about.
func (e envelope) cancelledID() string {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(e.Params, &params)
	return string(params.RequestID)
}

// version is the protocol version that a request names in its _meta, as those of
// 2026-07-28 and later do.
func (e envelope) version() string {
	var params struct {
		Meta *mcp.Meta `json:"_meta"`
	}
	if json.Unmarshal(e.Params, &params) != nil {
		return ""
	}
	return params.Meta.ProtocolVersion()
}

// rpcError is a response that says no. Without an ID it answers what could not be
// read.
func rpcError(id json.RawMessage, code int, message string) mcp.JSONRPCError {
	e := mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(code, message, nil)}
	if id != nil {
		e.ID = mcp.NewRequestId(id)
	}
	return e
}
