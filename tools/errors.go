package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// failure is err as a result. All of it is in the text: with isError clients
// show their model nothing else.
func failure(ctx context.Context, err error) *mcp.CallToolResult {
	if why := (*manager.Error)(nil); errors.As(context.Cause(ctx), &why) {
		err = why
	} else if ctx.Err() != nil {
		return mcp.NewToolResultError("cancelled: the call was cancelled before it ended.")
	}
	return mcp.NewToolResultError(failureText(public(err)))
}

func failureText(e schemas.Error) string {
	hint := e.Hint
	if hint == "" {
		hint = advice[e.Code]
	}
	code := string(e.Code)
	if e.Reason != "" {
		code += " (" + e.Reason + ")"
	}
	text := fmt.Sprintf("%s: %s", code, short(e.Message))
	if hint != "" {
		text += "\nHint: " + short(toolWords.Replace(hint))
	}
	if e.Retryable {
		text += "\nThe same call may succeed later."
	}
	return text
}

// public is what the caller may know of err.
func public(err error) schemas.Error {
	var mistake *schemas.DecodeError
	if errors.As(err, &mistake) {
		return schemas.Error{Code: schemas.CodeInvalidRequest, Message: mistake.Error(), Hint: fieldHint(mistake)}
	}
	e := manager.Public(err)
	if e.Code == schemas.CodeInternal {
		e.Hint = "" // written for people who can read the log
	}
	return e
}

func isInternal(ctx context.Context, err error) bool {
	return ctx.Err() == nil && public(err).Code == schemas.CodeInternal
}

// invalid is a mistake in the argument called field.
func invalid(field, format string, args ...any) error {
	return &schemas.DecodeError{Problems: []schemas.Problem{{Field: field, Text: fmt.Sprintf(format, args...)}}}
}

// short bounds texts that quote a sandbox's or a caller's own words.
func short(s string) string {
	const most = 2000
	if len(s) > most {
		s = s[:most] + " …"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
