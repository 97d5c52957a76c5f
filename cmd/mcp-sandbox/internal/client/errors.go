package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const maxErrorBody = 1 << 20

// Error is a call that failed.
type Error struct {
	Body   schemas.Error // the server's own, or made here
	Status int           // of the answer; 0 when there was none
	Cause  error
}

func (e *Error) Error() string { return e.Body.Message }
func (e *Error) Unwrap() error { return e.Cause }

// IsCode tells whether err is an [*Error] of a code.
func IsCode(err error, code schemas.Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Body.Code == code
}

// Invalid is a mistake that was found before any call.
func Invalid(hint, format string, args ...any) *Error {
	return &Error{Body: schemas.Error{Code: schemas.CodeInvalidRequest, Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// refused is what an answer says that is no success.
func refused(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var body schemas.ErrorBody
	if json.Unmarshal(data, &body) == nil && body.Error.Code != "" {
		return &Error{Body: body.Error, Status: resp.StatusCode}
	}
	if hinted := fromStatus(resp); hinted != nil {
		return hinted
	}
	e := strange("the server answered " + resp.Status)
	e.Status = resp.StatusCode
	return e
}

// fromStatus is for answers to HEAD, which have no body.
func fromStatus(resp *http.Response) *Error {
	codes := map[int]schemas.Code{
		400: schemas.CodeInvalidRequest, 401: schemas.CodeUnauthorized, 403: schemas.CodeForbidden, 404: schemas.CodeNotFound,
	}
	code, known := codes[resp.StatusCode]
	if !known || resp.Request == nil || resp.Request.Method != http.MethodHead {
		return nil
	}
	return &Error{Body: schemas.Error{Code: code, Message: "the server answered " + resp.Status}, Status: resp.StatusCode}
}

// strange is an answer that no server of ours gives.
func strange(message string) *Error {
	return &Error{Body: schemas.Error{
		Code: schemas.CodeBackendError, Message: message,
		Hint: "Check that the URL is that of an mcp-sandbox server, and that nothing in front of it answers in its place.",
	}}
}

// unreachable is a call that got no answer.
func (c *Client) unreachable(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var own *Error
	if errors.As(err, &own) {
		return own // of a transport that knows more
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the URL, which is said already
	}
	e := &Error{Cause: err, Body: schemas.Error{
		Code: schemas.CodeBackendUnavailable, Retryable: true,
		Message: fmt.Sprintf("no answer from %s: %v", c.Name, err),
		Hint:    "Check that the server runs, and its URL.",
	}}
	if method != http.MethodGet && method != http.MethodHead && !neverSent(err) {
		e.Body.Hint, e.Body.Retryable = maybeDone, false
	}
	return e
}

// neverSent: there was not even a connection.
func neverSent(err error) bool {
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &cert)
}

const maybeDone = "The call may or may not have been carried out: look before you repeat it."

// broken is an answer that stopped in the middle.
func (c *Client) broken(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &Error{Cause: err, Body: schemas.Error{
		Code: schemas.CodeBackendUnavailable, Message: fmt.Sprintf("the connection to %s broke: %v", c.Name, err),
		Hint: maybeDone,
	}}
	if method == http.MethodGet {
		e.Body.Hint, e.Body.Retryable = "Try again.", true
	}
	return e
}
