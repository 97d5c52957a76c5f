package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// form is how a kind of failure looks in HTTP.
type form struct {
	status     int
	retryAfter int // seconds
	hint       string
}

// forms is every kind of failure. A hint is for those that bring none.
var forms = map[schemas.Code]form{
	schemas.CodeInvalidRequest:      {status: 400, hint: "Correct the request. The document at /v1/openapi.json describes it."},
	schemas.CodeUnauthorized:        {status: 401, hint: "Send a valid key: Authorization: Bearer <key>, or X-API-Key: <key>."},
	schemas.CodeForbidden:           {status: 403, hint: "The message tells what forbids it: how this server is set up, or the mode of a file."},
	schemas.CodeNotFound:            {status: 404, hint: "Check the ID or path. What has expired or was destroyed is not found either."},
	schemas.CodeMethodNotAllowed:    {status: 405, hint: "The Allow header lists the methods of this path."},
	schemas.CodeConflict:            {status: 409, hint: "The message tells what is in the way. Remove or rename that, or ask for something else."},
	schemas.CodeSandboxGone:         {status: 410, hint: "Create a new sandbox, or fork one from a snapshot."},
	schemas.CodePayloadTooLarge:     {status: 413, hint: "Send or ask for less at a time."},
	schemas.CodeLimitExceeded:       {status: 429, retryAfter: 5, hint: "Try again later, or destroy what is no longer needed."},
	schemas.CodeInternal:            {status: 500, hint: "This is the server's fault; its log says more, under the request ID."},
	schemas.CodeBackendError:        {status: 502, hint: "Try once more, then ask who runs the server."},
	schemas.CodeBackendUnavailable:  {status: 503, retryAfter: 5, hint: "Try again in a moment."},
	schemas.CodeInsufficientStorage: {status: 507, hint: "Delete files or snapshots that are no longer needed."},
}

// refusal is a failure that the door itself knows of.
type refusal struct {
	body   schemas.Error
	status int // when not the code's own
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %s", r.body.Code, r.body.Message) }

func refuse(code schemas.Code, format string, args ...any) *refusal {
	return &refusal{body: schemas.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// public is what the caller may know of err.
func public(err error) schemas.Error {
	var mistake *schemas.DecodeError
	var own *refusal
	var e schemas.Error
	switch {
	case errors.As(err, &own):
		e = own.body
	case errors.As(err, &mistake):
		e = schemas.Error{Code: schemas.CodeInvalidRequest, Message: mistake.Error()}
	case manager.KindOf(err) == manager.KindInternal && errors.Is(err, context.Canceled):
		e = schemas.Error{Code: schemas.CodeBackendUnavailable, Message: "the call was cancelled before it ended", Retryable: true}
	default:
		e = manager.Public(err)
	}
	if e.Hint == "" || e.Code == schemas.CodeInternal {
		e.Hint = forms[e.Code].hint
	}
	return e
}

// fail answers with err.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := public(err)
	f := forms[e.Code]
	var own *refusal
	if errors.As(err, &own) && own.status != 0 {
		f.status = own.status
	}
	s.logFailure(r, e.Code, err)
	switch e.Code {
	case schemas.CodeUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case schemas.CodeLimitExceeded, schemas.CodeBackendUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(f.retryAfter))
	}
	body, err := encode(schemas.ErrorBody{Error: e})
	if err != nil {
		body = nil // strings and a bool can always be encoded
	}
	writeJSON(w, f.status, body)
}

func tooLarge(what string, limit int64) error {
	return refuse(schemas.CodePayloadTooLarge, "%s is larger than %d bytes", what, limit)
}
