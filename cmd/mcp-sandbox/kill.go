package main

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type killCmd struct {
	Signal string `short:"s" placeholder:"NAME" help:"Send this signal, as INT or HUP, to the command's process group, instead of killing it with all it started."`

	Sandbox string `arg:"" complete:"sandboxes" help:"ID, beginning of an ID, or name."`
	Exec    string `arg:"" complete:"execs" help:"ID of the background command, or the beginning of it."`

	reach
}

// Help ends the page of --help.
func (*killCmd) Help() string {
	return `What the command had written stays, for logs. For example:

    mcp-sandbox kill $id $job
    mcp-sandbox kill -s HUP $id $job`
}

// Run kills a background command.
func (c *killCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		id, err := s.Sandbox(ctx, c.Sandbox)
		if err != nil {
			return err
		}
		exec, err := s.FindExec(ctx, id, c.Exec)
		if err != nil {
			return err
		}
		if c.Signal != "" {
			return s.SignalExec(ctx, id, exec, schemas.SignalRequest{Signal: c.Signal})
		}
		return s.KillExec(ctx, id, exec)
	})
}
