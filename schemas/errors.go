package schemas

// Code is the stable machine-readable kind of a failure.
type Code string

const (
	CodeInvalidRequest      Code = "invalid_request"
	CodeUnauthorized        Code = "unauthorized"
	CodeForbidden           Code = "forbidden"
	CodeNotFound            Code = "not_found"
	CodeMethodNotAllowed    Code = "method_not_allowed"
	CodeConflict            Code = "conflict"
	CodeSandboxGone         Code = "sandbox_gone"
	CodePayloadTooLarge     Code = "payload_too_large"
	CodeLimitExceeded       Code = "limit_exceeded"
	CodeInternal            Code = "internal_error"
	CodeBackendError        Code = "backend_error"
	CodeBackendUnavailable  Code = "backend_unavailable"
	CodeInsufficientStorage Code = "insufficient_storage"
)

// Error is the body of every failed call.
type Error struct {
	Code    Code   `json:"code" jsonschema_description:"Stable kind of the failure."`
	Message string `json:"message" jsonschema_description:"What went wrong, on which value."`
	Hint    string `json:"hint,omitempty" jsonschema_description:"What to do next."`
	// Reason is why a sandbox is gone: destroyed, expired or rolled_back.
	Reason    string `json:"reason,omitempty" jsonschema_description:"For sandbox_gone: destroyed, expired or rolled_back."`
	Retryable bool   `json:"retryable" jsonschema_description:"Whether the same call may succeed later."`
}

// ErrorBody wraps Error the way clients receive it.
type ErrorBody struct {
	Error Error `json:"error"`
}
