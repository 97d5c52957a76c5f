package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	maxBody = 1 << 20
	// maxInput is how much standard input a command can be given at once.
	maxInput = 8 << 20
	// maxExecBody has room for 6 MiB of standard input in base64, which are 8 MiB,
	// and for a command and an environment as long as a kernel takes them.
	maxExecBody = maxInput + 4<<20
)

// decode reads the request's JSON. Nothing at all is the same as {}: what is
// required is then said to be missing.
func decode[T any](c *call, limit int64) (v T, err error) {
	data, err := c.readBody(limit)
	if err != nil {
		return v, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	return v, schemas.Decode(data, &v)
}

// readBody reads all of the body, to its end: only then does the server notice
// that a client goes away.
func (c *call) readBody(limit int64) ([]byte, error) {
	if c.r.ContentLength > limit {
		return nil, tooLarge("the body", limit)
	}
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(c.times.body))
	defer control.SetReadDeadline(time.Time{})
	data, err := io.ReadAll(io.LimitReader(c.r.Body, limit+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, invalid("", "the body did not arrive within %v", c.times.body)
	case err != nil:
		return nil, invalid("", "the body ended before it was complete")
	case int64(len(data)) > limit:
		return nil, tooLarge("the body", limit)
	}
	return data, nil
}

// invalid is a mistake in the field or parameter of that name; "" is the whole
// request.
func invalid(field, format string, args ...any) error {
	return &schemas.DecodeError{Problems: []schemas.Problem{{Field: field, Text: fmt.Sprintf(format, args...)}}}
}
