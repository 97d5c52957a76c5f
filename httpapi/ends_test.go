package httpapi

import (
	"io"
	"strconv"
)

// onlyReader hides how long it is, so that it is sent in chunks.
type onlyReader struct{ io.Reader }

func itoa(n int) string { return strconv.Itoa(n) }
