package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// open takes the data directory and makes manager and backend. It does not wait
// for Docker: a client's first call must be answered at once, whatever the daemon
// does. An observer may be nil.
func (s *settings) open(log *slog.Logger, o manager.Observer) (*holder, error) {
	instance, err := manager.InstanceID(s.DataDir, log)
	if err != nil {
		return nil, s.startFailure(err)
	}
	backend, err := dockerbackend.New(s.backendConfig(instance, log))
	if err != nil {
		return nil, fmt.Errorf("%w -> %s", err, mendDocker)
	}
	cfg := s.managerConfig(log)
	cfg.Observer = o
	m, err := manager.New(cfg, backend)
	if err != nil {
		backend.Close()
		return nil, s.startFailure(err)
	}
	return newHolder(m, backend, log), nil
}

// startFailure tells a directory that is in use from one that does not work.
func (s *settings) startFailure(err error) error {
	if errors.Is(err, manager.ErrDataDirHeld) {
		return failure{exitHeld, held{err}}
	}
	return fmt.Errorf("AGENT_SANDBOX_DATA_DIR (--data-dir) is %q; it must be a directory of the server's own: %w", s.DataDir, err)
}

// held says who has the data directory, and no more.
type held struct{ err error }

func (h held) Error() string { return message(h.err) }
func (h held) Unwrap() error { return h.err }
