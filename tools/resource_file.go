package tools

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (d *door) readResource(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return asked(ctx, d, string(mcp.MethodResourcesRead), func(o manager.Owner) ([]mcp.ResourceContents, error) {
		id, path, err := fileOf(req.Params.URI)
		if err != nil {
			return nil, err
		}
		content, err := d.fileContent(ctx, o, id, path)
		if err != nil {
			return nil, err
		}
		return []mcp.ResourceContents{asResource(req.Params.URI, content)}, nil
	})
}

// fileOf takes the URI of a file apart. Its path is one as tools take it; but as
// the path of a URI reads like an absolute one, workspace/x is /workspace/x too.
func fileOf(uri string) (schemas.SandboxID, string, error) {
	sandbox, rest, _ := strings.Cut(strings.TrimPrefix(uri, resourceStart), "/")
	id, err := schemas.ParseSandboxID(sandbox)
	if err != nil {
		return "", "", invalid("sandbox_id", "%v; %s lists them", err, sandboxesURI)
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return "", "", invalid("path", "must be percent-encoded: %v", err)
	}
	if "/"+path == workspace || strings.HasPrefix("/"+path, workspace+"/") {
		path = "/" + path
	}
	return id, path, nil
}

// fileContent is a whole file: a resource has no pages.
func (d *door) fileContent(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string) ([]byte, error) {
	f, r, err := d.core.ReadFile(ctx, o, id, path, 0, maxResourceBytes+1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxResourceBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	if len(b) > maxResourceBytes {
		return nil, &manager.Error{
			Kind:    manager.KindTooLarge,
			Message: fmt.Sprintf("%s has %d bytes; a resource has at most %d", f.Path, f.Size, maxResourceBytes),
			Hint:    "read_file reads it in pages.",
		}
	}
	return b, nil
}

func asResource(uri string, content []byte) mcp.ResourceContents {
	if isText(content, true) {
		return mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: string(content)}
	}
	return mcp.BlobResourceContents{URI: uri, MIMEType: http.DetectContentType(content), Blob: base64.StdEncoding.EncodeToString(content)}
}
