package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var writeFile = define(about{
	Name:  "write_file",
	Title: "Write a file",
	Description: `Writes a whole file below /workspace, making missing directories and replacing what was there.

Better than exec with echo or heredocs: nothing needs quoting. Give content for text, or content_base64 for binary. A reader never sees it half-written. To change part of a file use edit_file. mode 755 makes a script executable. To write elsewhere, as in /tmp, use exec.`,
	Hints: hints{Destructive: true, Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.WriteFileArgs) (schemas.FileInfo, string, error) {
	path, err := pathFrom(in.Path, in.PathBase64)
	if err != nil {
		return schemas.FileInfo{}, "", err
	}
	content, err := newContent(in)
	if err != nil {
		return schemas.FileInfo{}, "", err
	}
	f, err := c.WriteFile(ctx, c.owner, in.SandboxID, path, in.Mode, bytes.NewReader(content))
	return f, fmt.Sprintf("wrote %s, %s", f.Path, bytesOf(f.Size)), err
})

func newContent(in schemas.WriteFileArgs) ([]byte, error) {
	if err := exactlyOne("content", in.Content != nil, "content_base64", in.ContentBase64 != nil); err != nil {
		return nil, err
	}
	if in.Content != nil {
		return []byte(*in.Content), nil
	}
	b, err := base64.StdEncoding.DecodeString(*in.ContentBase64)
	if err != nil {
		return nil, invalid("content_base64", "must be standard base64: %v", err)
	}
	return b, nil
}
