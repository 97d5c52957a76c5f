package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// part is a piece of a file.
type part struct{ from, length int64 }

// whole is all of it, however long.
var whole = part{0, -1}

// parseRange reads a Range header for a file of some size: "bytes=from-to",
// "bytes=from-" or "bytes=-last". What is not a single range of bytes is passed
// over, as the standard (RFC 9110, 14.2) has it, and the file sent whole.
func parseRange(header string, size int64) (part, error) {
	spec, ok := strings.CutPrefix(header, "bytes=")
	from, to, dash := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok || !dash || strings.Contains(spec, ",") {
		return whole, nil
	}
	if from == "" {
		return suffix(to, size)
	}
	first, ok := digits(from)
	last := size - 1
	if to != "" && ok {
		last, ok = digits(to)
	}
	switch {
	case !ok || last < first && to != "":
		return whole, nil
	case first >= size:
		return part{}, noSuchRange()
	}
	return part{first, min(last, size-1) - first + 1}, nil
}

// suffix is the last n bytes.
func suffix(text string, size int64) (part, error) {
	n, ok := digits(text)
	switch {
	case !ok:
		return whole, nil
	case n == 0 || size == 0:
		return part{}, noSuchRange()
	}
	n = min(n, size)
	return part{size - n, n}, nil
}

// digits is a number too large for any file when it does not fit.
func digits(text string) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = 1<<63 - 1
	}
	return n, true
}

func noSuchRange() error {
	e := refuse(schemas.CodeInvalidRequest, "the file has nothing in the range asked for")
	e.status = http.StatusRequestedRangeNotSatisfiable
	e.body.Hint = "The Content-Range header has the file's size."
	return e
}
