package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/local"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// socketTime is how long a server may take to answer on its local socket; it may
// have started a moment ago.
const socketTime = 3 * time.Second

// checkDataDir opens the directory as a server does, which finds out whether it
// can be made, written and locked, and lets it go again. That a server runs on it
// is as it should be. No backend is needed: nothing is started.
func (d *doctor) checkDataDir() {
	const what = "data directory"
	m, err := manager.New(d.managerConfig(slog.New(slog.DiscardHandler)), nil)
	switch {
	case err == nil:
		m.Close()
		d.dataDir = true
		d.ok(what, "%s", d.DataDir)
	case errors.Is(err, manager.ErrDataDirHeld):
		d.dataDir = true
		who := holderName(d.DataDir)
		d.ok(what, "%s, in use by %s", d.DataDir, who)
		d.checkSocket(who)
	default:
		d.problem(what, message(err), "make "+d.DataDir+" a directory that you may write to, or choose another by --data-dir")
	}
}

// checkSocket asks the server that holds the directory for a sign of life.
func (d *doctor) checkSocket(who string) {
	const what = "local socket"
	ctx, cancel := context.WithTimeout(context.Background(), socketTime)
	defer cancel()
	about, err := askHolder(ctx, d.DataDir)
	for errors.Is(err, local.ErrNone) && ctx.Err() == nil {
		time.Sleep(findEvery)
		about, err = askHolder(ctx, d.DataDir)
	}
	if err != nil {
		d.problem(what, fmt.Sprintf("%s does not answer on it: %v", who, err),
			"end "+who+" and start it again; until then other stdio processes and commands cannot use it")
		return
	}
	d.ok(what, "answers: %s, version %s", about.Command, about.Version)
}

func askHolder(ctx context.Context, dataDir string) (local.About, error) {
	c := local.Client(dataDir)
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, local.BaseURL+"/livez", nil)
	if err != nil {
		return local.About{}, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return local.About{}, errors.Unwrap(err) // without the URL, which says nothing
	}
	resp.Body.Close()
	about, ok := local.From(resp.Header)
	if !ok || resp.StatusCode != http.StatusOK {
		return about, fmt.Errorf("it says %s", resp.Status)
	}
	return about, nil
}

// holderName is who has a data directory, or had it last.
func holderName(dataDir string) string {
	if pid := manager.DataDirHolder(dataDir); pid != "" {
		return "process " + pid
	}
	return "another server"
}
