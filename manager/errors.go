package manager

import (
	"errors"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Kind is the closed list of ways a call can fail. Each door has one table that
// turns kinds into its language.
type Kind int

const (
	KindInternal    Kind = iota // our fault; the zero value, so that an untyped error is one
	KindInvalid                 // bad argument, path, image reference
	KindForbidden               // not allowed here (image, network, file permission)
	KindNotFound                // unknown, another owner's, expired, destroyed; also a file
	KindConflict                // clashes with an operation in progress or with the state
	KindGone                    // the sandbox went away under a running call; see Error.Reason
	KindTooLarge                // file, body, snapshot over its limit
	KindLimit                   // sandbox limit reached
	KindBackend                 // the backend refused
	KindUnavailable             // the backend cannot be reached or does not answer
	KindNoSpace                 // no room in data directory or workspace
	KindLost                    // the guest's connection died under the call (Backend only)
	KindFailed                  // the workspace is gone (Backend only; clients see conflict)
)

// Code is the kind's name in both doors.
func (k Kind) Code() schemas.Code {
	switch k {
	case KindInvalid:
		return schemas.CodeInvalidRequest
	case KindForbidden:
		return schemas.CodeForbidden
	case KindNotFound:
		return schemas.CodeNotFound
	case KindConflict, KindFailed:
		return schemas.CodeConflict
	case KindGone:
		return schemas.CodeSandboxGone
	case KindTooLarge:
		return schemas.CodePayloadTooLarge
	case KindLimit:
		return schemas.CodeLimitExceeded
	case KindBackend, KindLost:
		return schemas.CodeBackendError
	case KindUnavailable:
		return schemas.CodeBackendUnavailable
	case KindNoSpace:
		return schemas.CodeInsufficientStorage
	default:
		return schemas.CodeInternal
	}
}

// Error is a failed call. Message and Hint are for the caller and hold nothing
// that the caller may not see; Cause is for the log.
type Error struct {
	Kind    Kind
	Message string
	Hint    string
	Reason  string // for KindGone: destroyed, expired or rolled_back
	// Retryable: the same call may succeed later, unchanged.
	Retryable bool
	Cause     error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Kind.Code(), e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Kind.Code(), e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }

// KindOf is the kind of the outermost [*Error] in err's chain, KindInternal when
// there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}

// Public is the error body that a client may see for err.
func Public(err error) schemas.Error {
	var e *Error
	if !errors.As(err, &e) || e.Kind == KindInternal {
		return schemas.Error{Code: schemas.CodeInternal, Message: "internal error", Hint: "This is the server's fault; its log says more."}
	}
	return schemas.Error{Code: e.Kind.Code(), Message: e.Message, Hint: e.Hint, Reason: e.Reason, Retryable: e.Retryable}
}
