package main

import (
	"errors"
	"log/slog"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// checkDataDir opens the directory as a server does, which finds out whether it
// can be made, written and locked, and lets it go again. No backend is needed:
// nothing is started.
func (d *doctor) checkDataDir() {
	const what = "data directory"
	m, err := manager.New(d.managerConfig(slog.New(slog.DiscardHandler)), nil)
	switch {
	case err == nil:
		m.Close()
		d.ok(what, "%s", d.DataDir)
	case errors.Is(err, manager.ErrDataDirHeld):
		d.problem(what, message(err), "stop that server, or give this one its own directory by --data-dir")
	default:
		d.problem(what, message(err), "make "+d.DataDir+" a directory that you may write to, or choose another by --data-dir")
	}
}
