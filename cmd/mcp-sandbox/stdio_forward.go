package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/local"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/tools"
)

const (
	// findTime is how long a holder may take to open its socket when this process
	// starts: it may have started a moment ago, or be about to end.
	findTime  = 5 * time.Second
	findEvery = 50 * time.Millisecond
	// connectTime bounds one attempt.
	connectTime = 5 * time.Second
	// patience is how long calls wait for the next server when one has gone. An
	// orderly end takes endTime at most.
	patience = 20 * time.Second
	// restartTime is how long "serve" may take to come back. What is run as a
	// service is restarted now and then; who took its place would keep it out.
	restartTime = 3 * time.Second
)

// forward serves the client by the process that holds the data directory, until
// it has gone and this one takes its place. why is that it is held.
func (s *stdio) forward(ctx context.Context, why error) error {
	n := &next{stdio: s}
	link, err := n.first(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return failure{exitHeld, fmt.Errorf("%w, and stdio cannot forward to it: %w", why, err)}
	}
	f := &tools.Forwarder{Reconnect: n.connect, Patience: patience, Log: s.log}
	return s.untilEnd(ctx, func() error { return f.Run(ctx, link, s.in, s.out) })
}

// next finds the server to forward to, which may be in this process.
type next struct {
	*stdio
	about local.About // the last one
	since time.Time   // when it was found to have gone; zero while it is there
}

// first is for the start, when a holder that cannot be reached is a mistake to be
// told of.
func (n *next) first(ctx context.Context) (tools.Link, error) {
	for deadline := time.Now().Add(findTime); ; {
		link, err := n.connect(ctx)
		if err == nil || time.Now().After(deadline) {
			return link, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(findEvery):
		}
	}
}

// connect tries once: to hold the data directory, or to reach who does.
func (n *next) connect(ctx context.Context) (tools.Link, error) {
	if n.since.IsZero() {
		n.since = time.Now()
	}
	if n.about.Command != "serve" || time.Since(n.since) >= restartTime {
		link, err := n.takeOver()
		if err == nil || !errors.Is(err, manager.ErrDataDirHeld) {
			return link, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	stream, err := local.Connect(ctx, n.DataDir)
	if err != nil {
		return nil, err
	}
	n.about, n.since = stream.About, time.Time{}
	n.log.Info("forwarding to the server that holds the data directory; its settings apply, not this process's",
		"data_dir", n.DataDir, "pid", n.about.PID, "command", n.about.Command, "version", n.about.Version)
	return stream, nil
}

// takeOver makes this process the holder, with its own client on a pipe.
func (n *next) takeOver() (tools.Link, error) {
	h, err := n.open(n.log, nil)
	if err != nil {
		return nil, err
	}
	n.log.Info("holding the data directory now, with this process's settings", "data_dir", n.DataDir)
	n.hold(h)
	n.about, n.since = local.Of("stdio", version()), time.Time{}
	near, far := tools.Pipe()
	go func() {
		defer far.Close()
		if err := tools.ServePeer(context.Background(), h.mcp, far, stdioGrace, n.log); err != nil {
			n.log.Debug("serve", "error", err)
		}
	}()
	return near, nil
}
