package httpapi

import "net/http"

// New is the door: every route of the /v1 API, health, metrics and the handlers
// of others, behind one set of checks.
func New(cfg Config) http.Handler {
	return http.NotFoundHandler()
}

// OpenAPI is the document that describes every route, as JSON.
func OpenAPI() []byte { return nil }

// CheckOrigin tells what is wrong with an origin for [Config].AllowedOrigins.
func CheckOrigin(origin string) error { return nil }

// IsLoopback tells whether a listener on host can be reached from this machine
// only.
func IsLoopback(host string) bool { return false }
