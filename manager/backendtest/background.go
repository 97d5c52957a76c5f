package backendtest

import (
	"context"
	"io"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Background execs are on their way here; until then they are refused.
func noBackground() error {
	return &manager.Error{Kind: manager.KindInvalid, Message: "background execs are not possible with this backend"}
}

// Execs implements Guest.
func (g *guest) Execs(context.Context) ([]manager.ExecState, error) { return nil, noBackground() }

// Poll implements Guest.
func (g *guest) Poll(context.Context, schemas.ExecID, manager.PollOptions, func(schemas.Stream, []byte) error) (manager.ExecState, error) {
	return manager.ExecState{}, noBackground()
}

// Input implements Guest.
func (g *guest) Input(context.Context, schemas.ExecID, io.Reader, bool) (int64, error) {
	return 0, noBackground()
}

// Signal implements Guest.
func (g *guest) Signal(context.Context, schemas.ExecID, string) error { return noBackground() }

// Kill implements Guest.
func (g *guest) Kill(context.Context, schemas.ExecID) error { return noBackground() }

// Resize implements Guest.
func (g *guest) Resize(context.Context, schemas.ExecID, manager.WindowSize) error {
	return noBackground()
}
