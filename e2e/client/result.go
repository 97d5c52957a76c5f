package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// ToolError is a result that the tool marked as an error.
type ToolError struct {
	Tool string
	Code string // the stable code that its text names
	Text string
}

func (e *ToolError) Error() string { return fmt.Sprintf("%s: %s", e.Tool, e.Text) }

// Code is the stable code of a failed call, empty when err is none.
func Code(err error) string {
	var e *ToolError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

var codes = regexp.MustCompile(`\b(invalid_request|unauthorized|forbidden|not_found|conflict|sandbox_gone|` +
	`payload_too_large|limit_exceeded|internal_error|backend_error|backend_unavailable|insufficient_storage)\b`)

// Decode turns a tool's result into a value or an error.
func Decode(tool string, r *mcp.CallToolResult, into any) error {
	if r.IsError {
		text := Text(r)
		return &ToolError{Tool: tool, Code: codes.FindString(text), Text: text}
	}
	if into == nil {
		return nil
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return fmt.Errorf("encode the result of %s: %w", tool, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode the result of %s: %w in %.300s", tool, err, raw)
	}
	return nil
}

// Text is the text of a result, as a client shows it that knows no structured
// content.
func Text(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}
