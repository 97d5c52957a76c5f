package httpapi

import (
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// bound refuses calls beyond the number that may be under way, so that a caller
// is told and memory is not its queue. Health is always answered.
func (s *server) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if free(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
			next.ServeHTTP(w, r)
		default:
			e := refuse(schemas.CodeLimitExceeded, "%d calls are under way; more are not taken at a time", cap(s.slots))
			e.body.Retryable = true
			s.fail(w, r, e)
		}
	})
}
