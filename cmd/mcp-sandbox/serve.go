package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcp-sandbox/mcp-sandbox/httpapi"
	"github.com/mcp-sandbox/mcp-sandbox/metrics"
	"github.com/mcp-sandbox/mcp-sandbox/tools"
)

type serveCmd struct {
	settings
	httpSettings
}

// Run serves until a signal comes. Everything that can be wrong is found before
// anything is started. Sandboxes stay.
func (c *serveCmd) Run(e *env) error {
	if err := c.complete(e); err != nil {
		return err
	}
	keys, err := c.keys(e.args)
	if err != nil {
		return err
	}
	cert, err := c.certificate(e.args)
	if err != nil {
		return err
	}
	log := c.newLogger(e.stderr)
	counts := metrics.New()
	h, err := c.open(log, counts)
	if err != nil {
		return err
	}
	defer h.close()
	l, err := c.listen()
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // who closes standard error ends only the log
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer c.reloadOnHangup(keys, cert, log)()

	counts.Watch(h.m.Stats)
	h.start("serve", graceTime, counts.Handler())
	defer context.AfterFunc(ctx, func() { h.leave() })()
	w := c.newWeb(h, keys, cert, counts, log)
	fmt.Fprintf(e.stdout, "listening on %s\n", w.url(l.Addr()))
	return w.serve(ctx, stop, l)
}

func (c *serveCmd) newWeb(h *holder, keys *httpapi.Keys, cert *certificate, counts *metrics.Metrics, log *slog.Logger) *web {
	mcp := tools.NewHTTP(h.mcp, tools.HTTPConfig{Owner: httpapi.OwnerFrom, Log: log})
	handler := httpapi.New(httpapi.Config{
		Manager: h.m, Version: version(),
		Keys: keys, Insecure: keys.Len() == 0, // only then is it allowed to be
		ListenHost: c.Host, AllowedOrigins: c.AllowedOrigins,
		Extra: map[string]http.Handler{
			"/mcp":            mcp.Streamable(),
			"/sse":            mcp.SSE(),
			tools.MessagePath: mcp.Message(),
		},
		Health: h.m.Health, Metrics: counts.Handler(),
		Log: log,
	})
	return newWeb(handler, cert, mcp, h.m, log)
}

// reloadOnHangup reads keys and certificate again at each SIGHUP. What is wrong
// with them is logged, and changes nothing.
func (c *serveCmd) reloadOnHangup(keys *httpapi.Keys, cert *certificate, log *slog.Logger) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	quit := make(chan struct{})
	go func() {
		for {
			select {
			case <-hangup:
				report(log, "API keys", keys.Reload(), "keys", keys.Len())
				if cert != nil {
					report(log, "certificate", cert.reload())
				}
			case <-quit:
				return
			}
		}
	}()
	return func() { signal.Stop(hangup); close(quit) }
}

func report(log *slog.Logger, what string, err error, attrs ...any) {
	if err != nil {
		log.Error("read "+what+" again; those from before stay", "error", err)
		return
	}
	log.Info("read "+what+" again", attrs...)
}

// url is how to call the server from this machine, or from wherever its address
// is known.
func (w *web) url(a net.Addr) string {
	scheme := "http"
	if w.srv.TLSConfig != nil {
		scheme = "https"
	}
	return scheme + "://" + a.String()
}
