package manager

import (
	"errors"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Why a sandbox went away under a running call; see [Error.Reason].
const (
	ReasonDestroyed  = "destroyed"
	ReasonExpired    = "expired"
	ReasonRolledBack = "rolled_back"
)

// invalid is a bad argument. The message names field, value and what is allowed.
func invalid(format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Message: fmt.Sprintf(format, args...)}
}

// hint adds what to do next.
func (e *Error) hint(text string) *Error {
	e.Hint = text
	return e
}

// notFound is the one answer for a sandbox that a caller may not know of: never
// made, another owner's, expired, destroyed.
func notFound(id schemas.SandboxID) *Error {
	return &Error{
		Kind: KindNotFound, Message: fmt.Sprintf("no sandbox %s", id),
		Hint: "It may have expired or been destroyed. List sandboxes, or create a new one.",
	}
}

// busy is a clash with an operation in progress.
func busy(op string) *Error {
	return &Error{
		Kind: KindConflict, Message: fmt.Sprintf("a %s of this sandbox is in progress", op),
		Hint: "Try again when it has ended.", Retryable: true,
	}
}

// gone is what a call gets whose sandbox goes away under it.
func gone(reason string) *Error {
	e := &Error{Kind: KindGone, Reason: reason}
	switch reason {
	case ReasonExpired:
		e.Message = "the sandbox expired while the call was running"
		e.Hint = "Create a new sandbox with a longer timeout_seconds, or set the timeout again before it expires."
	case ReasonRolledBack:
		e.Message = "the sandbox was rolled back while the call was running"
		e.Hint = "The sandbox is usable: run the call again if it is still wanted."
	default:
		e.Message = "the sandbox was destroyed while the call was running"
		e.Hint = "Create a new sandbox."
	}
	return e
}

// closing is what every call gets once Close has begun.
func closing() *Error {
	return &Error{
		Kind: KindUnavailable, Message: "the server is shutting down", Retryable: true,
		Hint: "Try again when it is back; sandboxes are kept.",
	}
}

// failedWorkspace is what clients see of KindFailed.
func failedWorkspace(cause error) *Error {
	return &Error{
		Kind: KindConflict, Message: "the sandbox's workspace is gone: its volume was removed from outside",
		Hint: "Roll back to a snapshot to get the sandbox back, or destroy it.", Cause: cause,
	}
}

// lost is what a call gets whose connection into the sandbox broke.
func lost(cause error) *Error {
	return &Error{
		Kind: KindBackend, Message: "the sandbox's container stopped, or the connection to it broke, while the call was running",
		Hint:      "Files in /workspace are kept and the next call starts the sandbox again. What the call had done by then stays done: check before repeating it.",
		Retryable: true, Cause: cause,
	}
}

// isKind tells whether err is an [*Error] of a kind.
func isKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}
