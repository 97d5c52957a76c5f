package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/local"
	"github.com/mcp-sandbox/mcp-sandbox/httpapi"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/tools"
)

// holder is a server that holds the data directory: the core, and the local
// socket, by which other processes of the same user reach it.
type holder struct {
	m       *manager.Manager
	backend manager.Backend
	mcp     *server.MCPServer
	api     http.Handler // /v1, as the user whose server it is
	log     *slog.Logger

	socket net.Listener  // nil where there can be none; and then
	local  *local.Server // is nil too
	grace  time.Duration // that calls over the socket get to end by themselves

	leaving sync.Once
	begun   time.Time     // when leaving did
	left    chan struct{} // closed when nobody is on the socket any more
}

// extend is nothing, but in the program that e2e/conformance builds.
var extend = func(*server.MCPServer) {}

func newHolder(m *manager.Manager, b manager.Backend, log *slog.Logger) *holder {
	h := &holder{m: m, backend: b, mcp: tools.NewServer(m, version(), log), log: log, left: make(chan struct{})}
	extend(h.mcp)
	return h
}

// start begins work in the background, and opens the local socket. Without one
// the server does everything but to let others in by it.
func (h *holder) start(command string, grace time.Duration, metrics http.Handler) {
	h.grace = grace
	h.m.Start()
	h.api = httpapi.New(httpapi.Config{
		Manager: h.m, Version: version(),
		Insecure: true, ListenHost: "localhost", // who can open the socket is its user
		Health: h.m.Health, Metrics: metrics,
		Log: h.log,
	})
	l, err := local.Listen(h.m.Config().DataDir)
	if err != nil {
		h.log.Warn("there is no local socket: no other process can use this server by it", "error", err)
		return
	}
	h.socket = l
	h.local = local.NewServer(local.Of(command, version()), h.api, h.servePeer, h.log)
	go h.local.Serve(l)
}

func (h *holder) servePeer(ctx context.Context, s *local.Stream) {
	h.log.Debug("a stdio process forwards to this server")
	if err := tools.ServePeer(ctx, h.mcp, s, h.grace, h.log); err != nil {
		h.log.Debug("serve stdio process", "error", err)
	}
}

// leave takes the socket away and tells who is on it to look for another server;
// left is closed when nobody is any more. It may be called again.
func (h *holder) leave() (left <-chan struct{}) {
	h.leaving.Do(func() {
		h.begun = time.Now()
		if h.local == nil {
			close(h.left)
			return
		}
		_ = h.socket.Close()
		go func() {
			defer close(h.left)
			ctx, cancel := context.WithTimeout(context.Background(), endTime)
			defer cancel()
			_ = h.local.Leave(ctx)
		}()
	})
	return h.left
}

// close lets calls end by themselves for a while, has the manager end the others,
// so that each is told why, and lets go of the data directory. By then the socket
// is gone, so that the next holder's is not taken for it.
func (h *holder) close() error {
	left := h.leave()
	wait(left, h.grace-time.Since(h.begun))
	err := h.m.Close()
	wait(left, time.Second)
	if h.local != nil {
		_ = h.local.Close()
	}
	return errors.Join(err, h.backend.Close())
}

func wait(done <-chan struct{}, most time.Duration) {
	select {
	case <-done:
	case <-time.After(most):
	}
}
