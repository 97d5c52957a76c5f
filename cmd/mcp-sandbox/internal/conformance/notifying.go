//go:build conformance

package conformance

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/tools"
)

// addNotifying adds the tools that say something before they answer, by the way
// that the product's tools do.
func addNotifying(s *server.MCPServer) {
	add(s, "test_tool_with_logging", "Logs three lines.", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			fields := map[string]any{"level": "info", "logger": "conformance", "data": line}
			if err := tools.Notify(ctx, string(mcp.MethodNotificationMessage), fields); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("Tool with logging executed successfully"), nil
	})
	add(s, "test_tool_with_progress", "Reports progress thrice.", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, done := range []int{0, 50, 100} {
			fields := map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": done, "total": 100}
			if err := tools.Notify(ctx, string(mcp.MethodNotificationProgress), fields); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("progress reported"), nil
	})
	// Of 2026-07-28: who names no level of log gets no log.
	addResult(s, "test_logging_tool", "Logs nothing unless asked to.", mcp.NewToolResultText("nothing was logged"))
	addResult(s, "test_streaming_elicitation", "Asks nothing on its stream.", mcp.NewToolResultText("nothing was asked"))
}
