package httpapi

import (
	"net/http"
	"slices"
)

// conditions are the headers by which a request asks to be done only if, or only
// in part.
var conditions = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Content-Range"}

// noConditions refuses them where something is changed: ignored, a piece of a file
// would replace the file, and a write that was to be refused would be done. A GET
// may be answered in full whatever they say.
func noConditions(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	at := slices.IndexFunc(conditions, func(name string) bool { return len(r.Header.Values(name)) > 0 })
	if at < 0 {
		return nil
	}
	return invalid(conditions[at], "cannot be given with %s: this server does the whole request in any case", r.Method)
}
