package tools

import (
	"context"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var listFiles = define(about{
	Name:  "list_files",
	Title: "List a directory",
	Description: `Lists one directory of a sandbox, sorted by name, with type, size, mode and time of each entry.

It does not go into subdirectories: for a tree, or to search, use exec with find or rg. A page holds 100 entries unless limit says otherwise, fewer when their names are long; pass next_cursor as cursor for the rest. Without path it lists /workspace.`,
	Hints: hints{ReadOnly: true, Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.ListFilesArgs) (schemas.FileList, string, error) {
	path := in.Path
	if path == "" {
		path = workspace
	}
	return listed(in.PageArgs, 100, fileListText, func(p schemas.Page) (schemas.FileList, error) {
		return c.ListFiles(ctx, c.owner, in.SandboxID, path, p)
	})
})

const workspace = "/workspace"

func fileListText(l schemas.FileList) string {
	return listText("entries in "+l.Path, l.Entries, l.NextCursor, fileText)
}

func fileText(f schemas.FileInfo) string {
	switch f.Type {
	case schemas.TypeDirectory:
		return f.Name + "/"
	case schemas.TypeSymlink:
		return f.Name + " -> " + f.LinkTarget
	case schemas.TypeFile:
		return fmt.Sprintf("%s %d", f.Name, f.Size)
	default:
		return fmt.Sprintf("%s (%s)", f.Name, f.Type)
	}
}
