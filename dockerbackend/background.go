package dockerbackend

import (
	"context"
	"io"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// start runs a command that may outlive the call.
func (g *guest) start(ctx context.Context, c manager.Command, emit func(schemas.Stream, []byte) error) (manager.Exit, error) {
	params := protocol.StartParams{
		ExecParams: execParams(c), ID: string(c.Background.ID), Wait: c.Background.Wait, Input: c.Background.Input,
	}
	if size := c.Background.Terminal; size != nil {
		params.Terminal = &protocol.WindowSize{Columns: size.Columns, Rows: size.Rows}
	}
	result, err := g.client.Start(ctx, params, c.Stdin, emitter(emit))
	return exitOf(result), guestError(err)
}

// Execs implements [manager.Guest].
func (g *guest) Execs(ctx context.Context) ([]manager.ExecState, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	all, err := g.client.Execs(ctx)
	if err != nil {
		return nil, guestError(err)
	}
	states := make([]manager.ExecState, len(all))
	for i, s := range all {
		states[i] = stateOf(s)
	}
	return states, nil
}

// Poll implements [manager.Guest].
func (g *guest) Poll(ctx context.Context, id schemas.ExecID, o manager.PollOptions, emit func(schemas.Stream, []byte) error) (manager.ExecState, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	state, err := g.client.Poll(ctx, protocol.PollParams{
		ID: string(id), Stdout: o.Stdout, Stderr: o.Stderr, MaxBytes: o.MaxBytes, Wait: o.Wait, Follow: o.Follow,
	}, emitter(emit))
	if err != nil {
		return manager.ExecState{}, guestError(err)
	}
	return stateOf(state), nil
}

// Input implements [manager.Guest].
func (g *guest) Input(ctx context.Context, id schemas.ExecID, r io.Reader, end bool) (int64, error) {
	ctx, done := g.watch.begin(ctx)
	defer done()
	taken, err := g.client.Input(ctx, string(id), r, end)
	return taken, guestError(err)
}

// Signal implements [manager.Guest].
func (g *guest) Signal(ctx context.Context, id schemas.ExecID, signal string) error {
	ctx, end := g.watch.begin(ctx)
	defer end()
	return guestError(g.client.Signal(ctx, protocol.SignalParams{ID: string(id), Signal: signal}))
}

// Kill implements [manager.Guest].
func (g *guest) Kill(ctx context.Context, id schemas.ExecID) error {
	ctx, end := g.watch.begin(ctx)
	defer end()
	return guestError(g.client.Kill(ctx, protocol.KillParams{ID: string(id)}))
}

// Resize implements [manager.Guest].
func (g *guest) Resize(ctx context.Context, id schemas.ExecID, size manager.WindowSize) error {
	ctx, end := g.watch.begin(ctx)
	defer end()
	return guestError(g.client.Resize(ctx, protocol.ResizeParams{
		ID: string(id), Size: protocol.WindowSize{Columns: size.Columns, Rows: size.Rows},
	}))
}

func stateOf(s protocol.ExecState) manager.ExecState {
	return manager.ExecState{
		ID: schemas.ExecID(s.ID), Argv: s.Argv, Started: s.Started.UTC(), Terminal: s.Terminal,
		Running: s.Result.Running, Stdout: s.Stdout, Stderr: s.Stderr, Exit: exitOf(s.Result),
	}
}
