//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func addResources(s *server.MCPServer) {
	add := func(name, kind string, contents mcp.ResourceContents) {
		s.AddResource(mcp.NewResource("test://"+name, name, mcp.WithResourceDescription("Is always the same."), mcp.WithMIMEType(kind)),
			func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{contents}, nil
			})
	}
	add("static-text", "text/plain", mcp.TextResourceContents{
		URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource.",
	})
	add("static-binary", "image/png", mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: image})
	// What is subscribed to never changes.
	add("watched-resource", "text/plain", mcp.TextResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "unchanged"})

	s.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template",
		mcp.WithTemplateDescription("Says which one it is."), mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			text := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: text}}, nil
		})
}
