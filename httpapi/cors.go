package httpapi

import "net/http"

// exposed are the response headers that pages may read.
const exposed = "Accept-Ranges, Allow, Content-Length, Content-Range, ETag, Mcp-Session-Id, Retry-After, WWW-Authenticate, X-File-Mode, X-File-Modified, X-Request-Id"

// checkHosts refuses what a browser was tricked into sending, and tells browsers
// what pages that may call can do. A preflight comes without a key.
func (s *server) checkHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.hosts.checkHost(r)
		if err == nil {
			err = s.hosts.checkOrigin(r)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", exposed)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE, OPTIONS")
		if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
			h.Set("Access-Control-Allow-Headers", wanted) // the origin is trusted already
		}
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}
