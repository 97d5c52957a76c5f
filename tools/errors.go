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

// advice says what a model can do about a failure that brings no hint of its own.
// What is forbidden or not found and has none is a file. The message of an invalid
// request says it all.
var advice = map[schemas.Code]string{
	schemas.CodeForbidden:           "Commands and file tools act as an ordinary user: exec with ls -ld shows owner and mode, and chmod changes the mode of files of your own.",
	schemas.CodeNotFound:            "list_files shows what is there.",
	schemas.CodeConflict:            "Wait until the other operation has ended, then call again.",
	schemas.CodeSandboxGone:         "The sandbox went away during the call. See sandbox_list; make a new one with sandbox_create, or with fork from a snapshot.",
	schemas.CodePayloadTooLarge:     "Work on it inside the sandbox with exec, in smaller parts.",
	schemas.CodeLimitExceeded:       "Destroy a sandbox that is no longer needed (sandbox_list shows them), then call again.",
	schemas.CodeInternal:            "This is the server's fault, not yours. Try once more, then tell the user.",
	schemas.CodeBackendError:        "Try once more, then tell the user.",
	schemas.CodeBackendUnavailable:  "The container backend does not answer. Wait a little and call again, then tell the user.",
	schemas.CodeInsufficientStorage: "Delete files in the sandbox, or snapshots that are no longer needed, and call again.",
}

// fieldAdvice says where a value comes from that cannot be made up.
var fieldAdvice = map[string]string{
	"sandbox_id":  "sandbox_list shows the sandboxes there are, sandbox_create makes one, and fork makes one from a snapshot.",
	"snapshot_id": "snapshot_list shows the snapshots there are, and snapshot takes one.",
	"exec_id":     "exec_poll without exec_id lists a sandbox's background commands.",
}

func fieldHint(mistake *schemas.DecodeError) string {
	for _, p := range mistake.Problems {
		if hint := fieldAdvice[p.Field]; hint != "" {
			return hint
		}
	}
	return ""
}

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
		text += "\nHint: " + short(hint)
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
