package main

import (
	"errors"
	"log/slog"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// checkDataDir opens the directory as a server does, which finds out whether
// it can be made, written and locked, and lets it go again.
func (d *doctor) checkDataDir() {
	const what = "data directory"
	quiet := slog.New(slog.DiscardHandler)
	backend, err := d.openBackend(quiet)
	if err != nil {
		d.problem(what, "not looked at, for want of a Docker client", "mend that first")
		return
	}
	defer backend.Close()
	m, err := manager.New(d.managerConfig(quiet), backend)
	switch {
	case err == nil:
		m.Close()
		d.ok(what, "%s", d.DataDir)
	case errors.As(startFailure(err), new(failure)):
		d.problem(what, message(err), "stop that server, or give this one its own directory by --data-dir")
	default:
		d.problem(what, message(err), "make "+d.DataDir+" a directory that you may write to, or choose another by --data-dir")
	}
}
