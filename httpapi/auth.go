package httpapi

import (
	"net/http"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// authenticate lets in who has a key, and says under whose name. It comes before
// the routes, so that without a key nobody learns which there are.
func (s *server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if free(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		owner, ok := s.owner(r)
		if !ok {
			s.fail(w, r, refuse(schemas.CodeUnauthorized, "a valid key is needed"))
			return
		}
		seen(r).owner = owner
		next.ServeHTTP(w, r.WithContext(withOwner(r.Context(), owner)))
	})
}

func (s *server) owner(r *http.Request) (manager.Owner, bool) {
	if s.cfg.Insecure && s.cfg.Keys.Len() == 0 {
		return manager.DefaultOwner, true
	}
	key, ok := keyOf(r.Header)
	if !ok {
		return "", false
	}
	return s.cfg.Keys.Owner(key)
}

// keyOf is the key of a request. X-API-Key comes first, because a proxy in front
// may want the Authorization header for itself.
func keyOf(h http.Header) (string, bool) {
	if all := h.Values("X-Api-Key"); len(all) > 0 {
		return all[0], len(all) == 1
	}
	all := h.Values("Authorization")
	if len(all) != 1 {
		return "", false
	}
	scheme, key, ok := strings.Cut(all[0], " ")
	return key, ok && strings.EqualFold(scheme, "Bearer")
}
