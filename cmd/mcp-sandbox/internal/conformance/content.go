//go:build conformance

package conformance

import (
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addContent adds the tools whose results are of each kind there is.
func addContent(s *server.MCPServer) {
	embedded := func(uri, kind, text string) mcp.Content {
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: text})
	}
	addResult(s, "test_simple_text", "Returns text.", mcp.NewToolResultText("This is a simple text response for testing."))
	addResult(s, "test_error_handling", "Fails.", mcp.NewToolResultError("This tool intentionally returns an error for testing"))
	addResult(s, "test_image_content", "Returns an image.", content(mcp.NewImageContent(image, "image/png")))
	addResult(s, "test_audio_content", "Returns a sound.", content(mcp.NewAudioContent(audio, "audio/wav")))
	addResult(s, "test_embedded_resource", "Returns a resource.",
		content(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
	addResult(s, "test_multiple_content_types", "Returns text, an image and a resource.", content(
		mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(image, "image/png"),
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
	))
}

func content(c ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: c} }
