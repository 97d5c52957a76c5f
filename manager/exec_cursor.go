package manager

import (
	"strconv"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// offsets are places in a command's two streams, in bytes since it began.
type offsets struct{ stdout, stderr int64 }

func (o *offsets) of(s schemas.Stream) *int64 {
	if s == schemas.Stderr {
		return &o.stderr
	}
	return &o.stdout
}

// cursor is how clients get to see offsets: one word that is no number, so that
// no client's JSON turns it into another one.
func (o offsets) cursor() string {
	return strconv.FormatInt(o.stdout, 10) + "-" + strconv.FormatInt(o.stderr, 10)
}

// checkExecCursor reads a cursor; none is the start. That it is beyond what a
// command has written is for the guest to find out.
func checkExecCursor(cursor string) (o offsets, err error) {
	if cursor == "" {
		return o, nil
	}
	stdout, stderr, _ := strings.Cut(cursor, "-")
	o.stdout, _ = strconv.ParseInt(stdout, 10, 64)
	o.stderr, _ = strconv.ParseInt(stderr, 10, 64)
	if o.stdout < 0 || o.stderr < 0 || o.cursor() != cursor {
		return offsets{}, badExecCursor(cursor)
	}
	return o, nil
}

func badExecCursor(cursor string) *Error {
	return invalid("cursor %.32q is not one that this server gave out for this exec", cursor).
		hint("Pass the cursor of the answer before as it was, or leave it out to read from the start of what is kept.")
}

// sane bounds a number of bytes that a guest tells: sums of such do not overflow.
func sane(n int64) int64 { return min(max(n, 0), 1<<60) }
