package httpapi

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// methods are the routes of one path.
type methods map[string]route

// mux finds the route. Paths are registered without methods, so that what the
// mux would answer in plain text is answered here, in our own shape.
func (s *server) mux() http.Handler {
	paths := map[string]methods{}
	for _, r := range routes {
		if paths[r.path] == nil {
			paths[r.path] = methods{}
		}
		paths[r.path][r.method] = r
	}
	mux := http.NewServeMux()
	for pattern, m := range paths {
		mux.Handle(pattern, named(s.dispatch(m)))
	}
	for pattern, h := range s.cfg.Extra {
		mux.Handle(pattern, named(h))
	}
	mux.HandleFunc("/", s.noRoute)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect, to what is not there, and answer "*" by itself.
		if path.Clean(r.URL.Path) != r.URL.Path || r.RequestURI == "*" {
			s.noRoute(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// named tells the log which route it was.
func named(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(r).pattern = r.Pattern
		h.ServeHTTP(w, r)
	})
}

func (s *server) noRoute(w http.ResponseWriter, r *http.Request) {
	e := refuse(schemas.CodeNotFound, "there is no such route")
	e.body.Hint = "The document at /v1/openapi.json lists all of them."
	s.fail(w, r, e)
}

// dispatch runs the route of the request's method. HEAD is GET: the HTTP server
// leaves the body out.
func (s *server) dispatch(m methods) http.Handler {
	allow := m.allow()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		found, ok := m[method]
		switch {
		case ok:
			s.serve(found, w, r)
		case r.Method == http.MethodOptions:
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", allow)
			s.fail(w, r, refuse(schemas.CodeMethodNotAllowed, "the method is not one of %s", allow))
		}
	})
}

func (m methods) allow() string {
	names := slices.Collect(maps.Keys(m))
	if _, ok := m[http.MethodGet]; ok {
		names = append(names, http.MethodHead)
	}
	names = append(names, http.MethodOptions)
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (s *server) serve(found route, w http.ResponseWriter, r *http.Request) {
	rw, ok := w.(*response)
	if !ok { // only a test would
		rw = newResponse(w, r, s.times.patience)
	}
	owner, _ := OwnerFrom(r.Context())
	query, err := parseQuery(r.URL.RawQuery, found.query)
	if err == nil {
		err = noConditions(r)
	}
	if err == nil {
		err = found.handle(&call{server: s, core: s.core, w: rw, r: r, owner: owner, query: query})
	}
	if err != nil {
		s.fail(rw, r, err)
	}
}
