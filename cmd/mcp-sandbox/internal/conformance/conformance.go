//go:build conformance

// Package conformance adds to a server the tools, resources and prompts that the
// official MCP conformance suite calls, so that the suite can be run over the real
// transports. It is in no program but the one that e2e/conformance builds for itself.
//
// The names and the words are the suite's.
package conformance

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Add adds all of them, and the abilities that go with them.
func Add(s *server.MCPServer) {
	for _, able := range []server.ServerOption{
		server.WithResourceCapabilities(true, false), server.WithPromptCapabilities(false),
		server.WithLogging(), server.WithCompletions(), server.WithPromptCompletionProvider(words{}),
	} {
		able(s)
	}
	addContent(s)
	addNotifying(s)
	addAsking(s)
	addSchemas(s)
	addResources(s)
	addPrompts(s)
}

// A 1x1 PNG and half a millisecond of silence.
const (
	image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	audio = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// add is a tool without arguments.
func add(s *server.MCPServer, name, description string, handle server.ToolHandlerFunc) {
	s.AddTool(mcp.NewTool(name, mcp.WithDescription(description)), handle)
}

// addResult is one that always says the same.
func addResult(s *server.MCPServer, name, description string, result *mcp.CallToolResult) {
	add(s, name, description, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
}
