package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// openCore makes manager and backend. It does not wait for Docker: a client's
// first call must be answered at once, whatever the daemon does. An observer may
// be nil.
func (s *settings) openCore(log *slog.Logger, o manager.Observer) (*manager.Manager, manager.Backend, error) {
	instance, err := manager.InstanceID(s.DataDir)
	if err != nil {
		return nil, nil, s.startFailure(err)
	}
	backend, err := dockerbackend.New(s.backendConfig(instance, log))
	if err != nil {
		return nil, nil, fmt.Errorf("%w -> %s", err, mendDocker)
	}
	cfg := s.managerConfig(log)
	cfg.Observer = o
	m, err := manager.New(cfg, backend)
	if err != nil {
		backend.Close()
		return nil, nil, s.startFailure(err)
	}
	return m, backend, nil
}

// startFailure tells a directory that is in use from one that does not work.
func (s *settings) startFailure(err error) error {
	if errors.Is(err, manager.ErrDataDirHeld) {
		return failure{exitHeld, errors.New(message(err))}
	}
	return fmt.Errorf("AGENT_SANDBOX_DATA_DIR (--data-dir) is %q; it must be a directory of the server's own: %w", s.DataDir, err)
}
