package main

import (
	"cmp"
	"errors"
	"log/slog"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// checkDataDir opens the directory as a server does, which finds out whether it
// can be made, written and locked, and lets it go again. That a server runs on it
// is as it should be. No backend is needed: nothing is started.
func (d *doctor) checkDataDir() {
	const what = "data directory"
	m, err := manager.New(d.managerConfig(slog.New(slog.DiscardHandler)), nil)
	switch {
	case err == nil:
		m.Close()
		d.ok(what, "%s", d.DataDir)
	case errors.Is(err, manager.ErrDataDirHeld):
		d.ok(what, "%s, in use by %s", d.DataDir, cmp.Or(process(manager.DataDirHolder(d.DataDir)), "another server"))
	default:
		d.problem(what, message(err), "make "+d.DataDir+" a directory that you may write to, or choose another by --data-dir")
	}
}

func process(pid string) string {
	if pid == "" {
		return ""
	}
	return "process " + pid
}
