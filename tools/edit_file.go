package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var editFile = define(about{
	Name:  "edit_file",
	Title: "Edit a file",
	Description: `Replaces an exact piece of text in a file below /workspace.

old_text must be in the file exactly as given, with its indentation and line breaks, and only once: add lines around it until it is unique, or set replace_all to replace every occurrence. Read the file first. An empty new_text deletes. The rest of the file, its mode and its kind of line ends stay as they are. Nothing is changed when the call fails. For a new file, or to replace most of one, use write_file.`,
	Hints: hints{Destructive: true},
}, runEdit)

func runEdit(ctx context.Context, c *call, in schemas.EditFileArgs) (schemas.Edited, string, error) {
	if in.OldText == "" {
		return schemas.Edited{}, "", invalid("old_text", "must not be empty; to make a file use write_file")
	}
	if in.OldText == in.NewText {
		return schemas.Edited{}, "", invalid("new_text", "must differ from old_text")
	}
	var err error
	if in.Path, err = pathFrom(in.Path, in.PathBase64); err != nil {
		return schemas.Edited{}, "", err
	}
	defer c.edits.lock(c.editKey(in))()
	before, err := c.readWhole(ctx, in.SandboxID, in.Path)
	if err != nil {
		return schemas.Edited{}, "", err
	}
	after, n, err := replace(before, in, c.Config().MaxFileBytes)
	if err != nil {
		return schemas.Edited{}, "", err
	}
	f, err := c.WriteFile(ctx, c.owner, in.SandboxID, in.Path, "", bytes.NewReader(after))
	return schemas.Edited{File: f, Replacements: n},
		fmt.Sprintf("replaced %d in %s, now %s", n, f.Path, bytesOf(f.Size)), err
}

func (c *call) editKey(in schemas.EditFileArgs) string {
	p := in.Path
	if !path.IsAbs(p) {
		p = path.Join(workspace, p)
	}
	return string(in.SandboxID) + path.Clean(p)
}

// readWhole reads a file of at most MaxFileBytes.
func (c *call) readWhole(ctx context.Context, id schemas.SandboxID, path string) ([]byte, error) {
	most := c.Config().MaxFileBytes
	f, r, err := c.ReadFile(ctx, c.owner, id, path, 0, most+1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = tooLarge(f, most)
	}
	return b, err
}

// replace does the edit on content.
func replace(content []byte, in schemas.EditFileArgs, most int64) (after []byte, n int, err error) {
	old, replacement := []byte(in.OldText), []byte(in.NewText)
	if n = bytes.Count(content, old); n == 0 && bytes.Contains(content, []byte("\r\n")) {
		old, replacement = crlf(in.OldText), crlf(in.NewText)
		n = bytes.Count(content, old)
	}
	switch {
	case n == 0:
		return nil, 0, noMatch(content, in)
	case n > 1 && !in.ReplaceAll:
		return nil, 0, manyMatches(content, old, n)
	}
	if size := int64(len(content)) + int64(n)*int64(len(replacement)-len(old)); size > most {
		return nil, 0, tooLarge(schemas.FileInfo{Path: in.Path, Size: size}, most)
	}
	return bytes.ReplaceAll(content, old, replacement), n, nil
}

// crlf gives text the line ends of a file that has these, which a model rarely
// writes though it has seen them.
func crlf(s string) []byte {
	return []byte(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n"))
}

func noMatch(content []byte, in schemas.EditFileArgs) error {
	hint := "Read the file and copy the text exactly, with its indentation."
	if trimmed := strings.TrimSpace(in.OldText); trimmed != "" && bytes.Contains(content, []byte(trimmed)) {
		hint = "It is there with other whitespace at its start or end. " + hint
	}
	return &manager.Error{
		Kind:    manager.KindInvalid,
		Message: fmt.Sprintf("old_text: was not found in %s; nothing was changed", in.Path),
		Hint:    hint,
	}
}

func manyMatches(content, old []byte, n int) error {
	return &manager.Error{
		Kind:    manager.KindInvalid,
		Message: fmt.Sprintf("old_text: occurs %d times, at lines %s; nothing was changed", n, matchLines(content, old)),
		Hint:    "Add lines around it until it is unique, or set replace_all to replace every one.",
	}
}

// matchLines are the numbers of the first lines where old occurs.
func matchLines(content, old []byte) string {
	const most = 10
	var lines []string
	for line, from := 1, 0; ; {
		i := bytes.Index(content[from:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		if len(lines) == most {
			return strings.Join(lines, ", ") + ", …"
		}
		line += bytes.Count(content[from:from+i], []byte("\n"))
		lines = append(lines, fmt.Sprint(line))
		line += bytes.Count(old, []byte("\n"))
		from += i + len(old)
	}
}
