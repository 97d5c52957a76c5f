package tools

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var listFiles = define(about{
	Name:  "list_files",
	Title: "List a directory",
	Description: `Lists one directory of a sandbox, sorted by name, with type, size, mode and time of change of each entry.

It does not go into subdirectories: for a tree, or to search, use exec with find or rg. A page holds 100 entries unless limit says otherwise, fewer when their names are long; pass next_cursor as cursor for the rest. The text has mode, size, time and name on a line for each. Without path it lists /workspace.`,
	Hints: hints{ReadOnly: true, Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.ListFilesArgs) (schemas.FileList, string, error) {
	if in.Path == "" && in.PathBase64 == "" {
		in.Path = workspace
	}
	path, err := pathFrom(in.Path, in.PathBase64)
	if err != nil {
		return schemas.FileList{}, "", err
	}
	return listed(in.PageArgs, 100, fileListText, func(p schemas.Page) (schemas.FileList, error) {
		return c.ListFiles(ctx, c.owner, in.SandboxID, path, p)
	})
})

const workspace = "/workspace"

func fileListText(l schemas.FileList) string {
	return listText("entries in "+l.Path, l.Entries, l.NextCursor, fileText)
}

// fileText has the name last, because that may be anything.
func fileText(f schemas.FileInfo) string {
	size, name := "-", visible(f.Name)
	switch f.Type {
	case schemas.TypeDirectory:
		name += "/"
	case schemas.TypeSymlink:
		name += " -> " + visible(f.LinkTarget)
	case schemas.TypeFile:
		size = strconv.FormatInt(f.Size, 10)
	default:
		name += fmt.Sprintf(" (%s)", f.Type)
	}
	return fmt.Sprintf("%s %s %s %s", f.Mode, size, f.ModifiedAt.UTC().Format(time.RFC3339), name)
}

// visible quotes a name that would not stay on its line.
func visible(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
