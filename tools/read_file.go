package tools

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// read_file promises no output schema: with one, an image would need structured
// content beside it, and Claude Code drops images that have that.
var readFile = defineRaw(about{
	Name:  "read_file",
	Title: "Read a file",
	Description: `Reads a file of a sandbox: text as text, an image as an image, anything else as base64.

Text comes in pages of whole lines, up to about 20 000 characters: limit asks for fewer lines, and next_offset (absent at the end of the file) is the offset of the next page. offset is the number of lines to skip: 0, the default, starts at the first line. Images (PNG, JPEG, GIF, WebP) below 1 MiB come as images. Other binary content comes as base64, where offset and limit count bytes. To search, or to pick from large files, use exec with grep, sed -n or tail. Of a longer text only the first {{size .MaxFileBytes}} can be paged through.`,
	Hints:     hints{ReadOnly: true, Idempotent: true},
	MaxResult: maxResultChars,
}, runRead)

func runRead(ctx context.Context, c *call, in schemas.ReadFileArgs) (*mcp.CallToolResult, error) {
	var err error
	if in.Path, err = pathFrom(in.Path, in.PathBase64); err != nil {
		return nil, err
	}
	offset, err := within("offset", in.Offset, 0, 0, maxOffset)
	if err != nil {
		return nil, err
	}
	limit, err := within("limit", in.Limit, maxOffset, 1, maxOffset)
	if err != nil {
		return nil, err
	}
	if in.Encoding == schemas.EncodingBase64 {
		return c.readBytes(ctx, in, offset, limit)
	}
	most := c.Config().MaxFileBytes
	f, r, err := c.ReadFile(ctx, c.owner, in.SandboxID, in.Path, 0, most)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return c.readAs(ctx, in, f, bufio.NewReaderSize(r, sampleBytes), offset, limit)
}

const (
	maxOffset   = 1 << 50
	sampleBytes = 64 << 10
)

// readAs decides what the file is.
func (c *call) readAs(ctx context.Context, in schemas.ReadFileArgs, f schemas.FileInfo, r *bufio.Reader, offset, limit int64) (*mcp.CallToolResult, error) {
	sample, err := r.Peek(sampleBytes)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read file: %w", err)
	}
	paged := in.Offset != nil || in.Limit != nil
	switch {
	case in.Encoding == "" && !paged && f.Size < maxImageBytes && imageType(sample) != "":
		return readImage(f, r, imageType(sample))
	case in.Encoding == "" && !isText(sample, err == io.EOF):
		return c.readBytes(ctx, in, offset, limit)
	}
	most := c.Config().MaxFileBytes
	page, err := readText(r, f, f.Size <= most, offset, limit)
	switch {
	case errors.Is(err, errFurtherOn):
		return nil, furtherOn(f, most, offset)
	case err != nil:
		return nil, fmt.Errorf("read file: %w", err)
	}
	return structured(page, pageText(page))
}

// imageType is the content's type if it is an image that models can see.
func imageType(sample []byte) string {
	t := http.DetectContentType(sample)
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, t) {
		return t
	}
	return ""
}

func readImage(f schemas.FileInfo, r io.Reader, mime string) (*mcp.CallToolResult, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxImageBytes))
	if err != nil {
		return nil, fmt.Errorf("read image: %w", err)
	}
	text := fmt.Sprintf("%s: %s, %d bytes", f.Path, mime, len(b))
	return mcp.NewToolResultImage(text, base64.StdEncoding.EncodeToString(b), mime), nil
}

// readBytes is a page of exact bytes, counted in bytes.
func (c *call) readBytes(ctx context.Context, in schemas.ReadFileArgs, offset, limit int64) (*mcp.CallToolResult, error) {
	f, r, err := c.ReadFile(ctx, c.owner, in.SandboxID, in.Path, offset, min(limit, readFileChars/4*3))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, readFileChars/4*3))
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	page := schemas.FileContent{
		Path: f.Path, SizeBytes: f.Size, Encoding: schemas.EncodingBase64,
		Content: base64.StdEncoding.EncodeToString(b), Offset: offset,
	}
	if next := offset + int64(len(b)); next < f.Size && len(b) > 0 {
		page.NextOffset, page.Truncated = &next, true
	}
	return structured(page, pageText(page))
}

// pageText has a line before the content, because an empty or blank text is an
// error to the Anthropic API.
func pageText(p schemas.FileContent) string {
	if p.Content == "" {
		return p.Path + ": " + nothing(p)
	}
	head := fmt.Sprintf("%s: %s", p.Path, bytesOf(p.SizeBytes))
	if p.Encoding == schemas.EncodingBase64 {
		head += fmt.Sprintf(", binary, as base64 from byte %d", p.Offset)
	} else if *p.Lines > 0 {
		head += fmt.Sprintf(", lines %d to %d", p.Offset+1, p.Offset+*p.Lines)
	}
	if p.TotalLines != nil {
		head += fmt.Sprintf(" of %d", *p.TotalLines)
	}
	if p.CutLine {
		head += fmt.Sprintf("; line %d is too long and was cut after %s, use exec with cut -c for the rest of it",
			p.Offset+*p.Lines, count(p.CutAt, "character"))
	}
	if p.NextOffset != nil {
		head += fmt.Sprintf("; go on with offset %d", *p.NextOffset)
	}
	return head + "\n" + p.Content
}

// nothing says why a page has no content.
func nothing(p schemas.FileContent) string {
	size := bytesOf(p.SizeBytes)
	if p.TotalLines != nil {
		size = count(*p.TotalLines, "line")
	}
	if p.Offset == 0 || p.SizeBytes == 0 && (p.TotalLines == nil || *p.TotalLines == 0) {
		return "empty file"
	}
	return fmt.Sprintf("offset %d is past the end: the file has %s", p.Offset, size)
}

func tooLarge(f schemas.FileInfo, most int64) error {
	return &manager.Error{
		Kind:    manager.KindTooLarge,
		Message: fmt.Sprintf("%s has %d bytes; the limit is %d", f.Path, f.Size, most),
		Hint:    "Work on it inside the sandbox with exec: head, tail, grep, sed.",
	}
}

func furtherOn(f schemas.FileInfo, most, offset int64) error {
	return &manager.Error{
		Kind: manager.KindTooLarge,
		Message: fmt.Sprintf("the page at offset %d goes beyond the first %d bytes of %s, which has %d; no more can be paged through",
			offset, most, f.Path, f.Size),
		Hint: fmt.Sprintf("Use exec: sed -n '%d,%dp' prints lines from there, tail the last ones, grep finds some.", offset+1, offset+100),
	}
}
