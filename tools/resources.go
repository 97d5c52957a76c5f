package tools

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Resources are for people and programs that attach things to a conversation: the
// two lists, and every file. They say what the tools say, and change nothing.
const (
	sandboxesURI  = "sandbox://sandboxes"
	snapshotsURI  = "sandbox://snapshots"
	fileTemplate  = "sandbox://{sandbox_id}/{+path}"
	resourceStart = "sandbox://"
)

// mcp-go says of an unknown resource that it has no handler for it, and then this.
func init() {
	server.ErrResourceNotFound = errors.New("resources are " + sandboxesURI + ", " + snapshotsURI + " and " + fileTemplate +
		", where blanks and other special characters of the path are percent-encoded")
}

func (d *door) addResources(s *server.MCPServer) {
	s.AddResource(mcp.NewResource(sandboxesURI, "sandboxes", mcp.WithResourceTitle("Sandboxes"), mcp.WithMIMEType("application/json"),
		mcp.WithResourceDescription("The sandboxes that exist now, oldest first, as sandbox_list shows them.")),
		listResource(d, func(ctx context.Context, o manager.Owner, p schemas.Page) (any, error) { return d.core.List(ctx, o, p) }))
	s.AddResource(mcp.NewResource(snapshotsURI, "snapshots", mcp.WithResourceTitle("Snapshots"), mcp.WithMIMEType("application/json"),
		mcp.WithResourceDescription("The snapshots that exist now, oldest first, as snapshot_list shows them.")),
		listResource(d, func(ctx context.Context, o manager.Owner, p schemas.Page) (any, error) {
			return d.core.ListSnapshots(ctx, o, "", p)
		}))
	s.AddResourceTemplate(mcp.NewResourceTemplate(fileTemplate, "file", mcp.WithTemplateTitle("File of a sandbox"),
		mcp.WithTemplateDescription("A file in a sandbox, as text or else as bytes, up to 512 KiB. path is absolute, or relative to /workspace.")),
		d.readResource)
}

// listResource is as much of a list as fits; next_cursor in it tells of more,
// which the tool of the same list can page through.
func listResource(d *door, list func(context.Context, manager.Owner, schemas.Page) (any, error)) server.ResourceHandlerFunc {
	return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return asked(ctx, d, string(mcp.MethodResourcesRead), func(o manager.Owner) ([]mcp.ResourceContents, error) {
			var content json.RawMessage
			for limit := 100; ; limit /= 2 {
				page, err := list(ctx, o, schemas.Page{Limit: limit})
				if err != nil {
					return nil, err
				}
				if content, err = schemas.Result(page); err != nil {
					return nil, err
				}
				if len(content) <= listChars || limit == 1 {
					break
				}
			}
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: string(content)}}, nil
		})
	}
}
