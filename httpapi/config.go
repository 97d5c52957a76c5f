package httpapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Config is what the door is told.
type Config struct {
	Manager *manager.Manager
	Version string

	// Keys says who may call. Without any, nobody may, unless Insecure is set:
	// then every call is [manager.DefaultOwner]'s.
	Keys     *Keys
	Insecure bool

	// ListenHost is the host or address that the server listens on. On a
	// loopback one only loopback names are taken for Host.
	ListenHost string
	// AllowedOrigins are browser origins that may call, besides loopback ones:
	// as https://example.com. [CheckOrigin] tells whether one is well-formed.
	AllowedOrigins []string

	// Extra are handlers of others, by path, behind the same checks; they read
	// whose call it is by [OwnerFrom].
	Extra map[string]http.Handler
	// Metrics is served at /metrics, to callers with a key.
	Metrics http.Handler

	// MaxInFlight bounds the calls at a time; 0 is [DefaultMaxInFlight].
	MaxInFlight int

	// Health tells whether the backend answers, and its name; nil says it does.
	Health func(context.Context) (backend string, err error)

	Log *slog.Logger
}

// DefaultMaxInFlight bounds what callers can make the server hold at a time.
const DefaultMaxInFlight = 512
