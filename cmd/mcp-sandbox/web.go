package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/tools"
)

const (
	// graceTime is how long calls may end by themselves when the server is told
	// to. Then the manager ends them, which takes it about four seconds at most;
	// endTime bounds the whole.
	graceTime = 5 * time.Second
	endTime   = 12 * time.Second
)

// web is the HTTP server, from its start to its end.
type web struct {
	srv *http.Server
	mcp *tools.HTTP
	m   *manager.Manager
	log *slog.Logger

	grace time.Duration // graceTime, but for tests
}

// newWeb has limits for what comes before a handler and between requests. None
// is on a whole request or response: an exec or a transfer takes as long as it
// takes. Handlers bound how long a client may be silent.
func newWeb(handler http.Handler, cert *certificate, mcp *tools.HTTP, m *manager.Manager, log *slog.Logger) *web {
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// "OPTIONS *" is a call like any other, and so needs a key.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug), // broken handshakes and such
	}
	if cert != nil {
		srv.TLSConfig = cert.config()
	}
	return &web{srv: srv, mcp: mcp, m: m, log: log, grace: graceTime}
}

// serve serves l until ctx is done, and returns when all has ended. A second
// signal does not wait: release lets it through.
func (w *web) serve(ctx context.Context, release func(), l net.Listener) error {
	w.log.Info("serving", "address", w.url(l.Addr()))
	failed := make(chan error, 1)
	go func() {
		if w.srv.TLSConfig != nil {
			failed <- w.srv.ServeTLS(l, "", "")
		} else {
			failed <- w.srv.Serve(l)
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		release()
		w.end()
		return nil
	}
}

// end takes no more calls, lets short ones finish, and ends the rest by closing
// the manager, so that each is told why.
func (w *web) end() {
	w.log.Info("ending; calls may finish", "grace", w.grace.String())
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.srv.Shutdown(ctx) }()
	w.mcp.Close()
	var err error
	select {
	case err = <-done:
	case <-time.After(w.grace):
		w.log.Info("ending calls that still run")
		err = errors.Join(w.m.Close(), <-done)
	}
	if err != nil {
		w.log.Warn("end; dropping what is left", "error", err)
		_ = w.srv.Close()
	}
	w.log.Info("ended; sandboxes stay")
}
