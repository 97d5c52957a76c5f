package httpapi

import "io"

// onlyReader hides how long it is, so that it is sent in chunks.
type onlyReader struct{ io.Reader }
