package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/local"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

const (
	// reachTime is how long to look for the server that holds the data directory.
	// One that is about to end takes some seconds to let go of it.
	reachTime = 20 * time.Second
	// maxLost is how often in one command a server may go before it is asked
	// anything.
	maxLost = 3
)

// nearby goes to the server that holds the data directory.
func (r *reach) nearby(ctx context.Context, e *env) (*link, error) {
	n := &neighbour{reach: r, log: slog.New(slog.DiscardHandler), say: io.Discard, stderr: e.stderr, command: e.command}
	if r.Verbose {
		n.log, n.say = r.newLogger(e.stderr), e.stderr
	}
	if err := n.find(ctx); err != nil {
		return nil, err
	}
	c, err := client.New(local.BaseURL, "", n)
	if err != nil {
		return nil, err
	}
	c.Name = "the server of data directory " + r.DataDir
	return &link{c, c.Name, n.close}, nil
}

// neighbour is the server that holds the data directory, as a transport. When
// that has gone before it was asked, the next one is asked, which may be this
// process.
type neighbour struct {
	*reach
	log     *slog.Logger
	say     io.Writer // what only matters to the curious
	stderr  io.Writer
	command string

	mu   sync.Mutex
	hold *local.Hold // while another process is the server
	own  *ownServer  // while this one is
	http *http.Transport
}

// find finds the server, or becomes it.
func (n *neighbour) find(ctx context.Context) error {
	for deadline := time.Now().Add(reachTime); ; {
		err := n.try(ctx)
		again := errors.Is(err, local.ErrNone) || errors.Is(err, local.ErrLeaving)
		if err == nil || !again || ctx.Err() != nil {
			return err
		}
		if time.Now().After(deadline) {
			return failure{exitHeld, fmt.Errorf("%s holds data directory %s, but cannot be reached (%w); see mcp-sandbox doctor",
				holderName(n.DataDir), n.DataDir, err)}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(findEvery):
		}
	}
}

// try looks for a server once. The error is [local.ErrNone] when somebody else has
// the data directory, but no socket.
func (n *neighbour) try(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	h, none := local.Claim(bounded, n.DataDir)
	if none == nil {
		t := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return local.Dial(ctx, n.DataDir)
		}}
		fmt.Fprintf(n.say, "mcp-sandbox: using the server of process %d (%s, version %s)\n", h.About.PID, h.About.Command, h.About.Version)
		n.set(h, nil, t)
		return nil
	}
	if !errors.Is(none, local.ErrNone) {
		return none
	}
	own, err := n.becomeServer(n.log, n.command, n.stderr)
	if errors.Is(err, manager.ErrDataDirHeld) {
		return none
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(n.say, "mcp-sandbox: no server runs on", n.DataDir, "-- this command is the server while it runs")
	n.set(nil, own, own.transport())
	return nil
}

func (n *neighbour) set(h *local.Hold, own *ownServer, t *http.Transport) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hold != nil {
		n.hold.Close()
	}
	n.hold, n.own, n.http = h, own, t
}

func (n *neighbour) transport() *http.Transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.http
}

// RoundTrip asks the server. What may have reached one is never sent to another.
func (n *neighbour) RoundTrip(r *http.Request) (*http.Response, error) {
	for lost := 0; ; lost++ {
		resp, err := n.transport().RoundTrip(r)
		if lost == maxLost || !errors.Is(err, local.ErrNone) || r.Body != nil && r.GetBody == nil {
			return resp, err
		}
		if err := n.find(r.Context()); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// CloseIdleConnections is for [http.Client].
func (n *neighbour) CloseIdleConnections() { n.transport().CloseIdleConnections() }

// close lets the server go. Where this process is it, others may need it still:
// ctx bounds how long they do.
func (n *neighbour) close(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.http.CloseIdleConnections()
	if n.hold != nil {
		n.hold.Close()
	}
	if n.own != nil {
		return n.own.close(ctx)
	}
	return nil
}
