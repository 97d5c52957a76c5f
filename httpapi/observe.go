package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// sight is what is known of a request, for the log.
type sight struct {
	id      string
	pattern string
	owner   manager.Owner
}

type sightKey struct{}

// seen is the request's sight. Outside of a request it is one that nobody reads.
func seen(r *http.Request) *sight {
	if s, ok := r.Context().Value(sightKey{}).(*sight); ok {
		return s
	}
	return &sight{}
}

// observe is around everything: request ID, access log, and panics.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		known := &sight{id: requestID(r)}
		r = r.WithContext(context.WithValue(r.Context(), sightKey{}, known))
		rw := newResponse(w, r, s.times.patience)
		r.Body = rw.body
		rw.relax() // of the request before on this connection
		rw.Header().Set("X-Request-Id", known.id)
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		rw.Header().Set("Cache-Control", "no-store")
		defer func() {
			aborted := s.recovered(recover(), rw, r)
			s.report(r, rw, time.Since(begin), aborted)
			if aborted {
				panic(http.ErrAbortHandler)
			}
			rw.finish(s.times.linger)
		}()
		next.ServeHTTP(rw, r)
	})
}

// recovered makes an answer of a panic, or, when an answer is under way, tells
// that the connection must break: what was sent must not pass for whole.
func (s *server) recovered(p any, w *response, r *http.Request) (aborted bool) {
	if p == nil {
		return false
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	if w.status != 0 {
		s.logFailure(r, schemas.CodeInternal, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		return true
	}
	s.fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	return false
}

func (s *server) report(r *http.Request, w *response, took time.Duration, aborted bool) {
	known := seen(r)
	attrs := []slog.Attr{
		slog.String("method", method(r)), slog.String("route", known.pattern), slog.Int("status", w.status),
		slog.Int64("took_ms", took.Milliseconds()), slog.Int64("bytes", w.bytes),
		slog.String("owner", string(known.owner)), slog.String("request_id", known.id),
	}
	if aborted || r.Context().Err() != nil {
		attrs = append(attrs, slog.Bool("cut_off", true))
	}
	s.log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, "http call", attrs...)
}

// method is the request's, unless a client made it up.
func method(r *http.Request) string {
	switch r.Method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT":
		return r.Method
	}
	return "other"
}

// logFailure says what is behind an answer that hides it. Mistakes of callers
// are theirs alone, and may quote paths.
func (s *server) logFailure(r *http.Request, code schemas.Code, err error) {
	level := slog.LevelWarn
	switch code {
	case schemas.CodeInternal:
		level = slog.LevelError
	case schemas.CodeBackendError, schemas.CodeBackendUnavailable:
	default:
		return
	}
	if r.Context().Err() != nil {
		level = slog.LevelDebug // it has gone away: what becomes of its call is no news
	}
	s.log.LogAttrs(context.WithoutCancel(r.Context()), level, "call failed",
		slog.String("request_id", seen(r).id), slog.String("code", string(code)), slog.Any("error", err))
}

var sane = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID is the caller's own when it can do no harm in a log.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); sane.MatchString(id) {
		return id
	}
	b := make([]byte, 8)
	rand.Read(b) // never fails: crypto/rand
	return "req_" + hex.EncodeToString(b)
}
