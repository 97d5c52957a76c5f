package main

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type snapshotCmd struct {
	Name    string `placeholder:"NAME" help:"A label, by which commands find the snapshot too while it is the only one of that name."`
	NoPause bool   `help:"Let the sandbox's processes run on while it is taken. What they write meanwhile may be in it in part."`

	Sandbox string `arg:"" complete:"sandboxes" help:"ID, beginning of an ID, or name."`

	reach
}

// Help ends the page of --help.
func (*snapshotCmd) Help() string {
	return `A snapshot holds /workspace and outlives the sandbox. Only the ID is printed:

    snap=$(mcp-sandbox snapshot $id --name before-upgrade)
    mcp-sandbox rollback $id $snap

mcp-sandbox ls --snapshots lists them, mcp-sandbox rm removes them.`
}

// Run takes a snapshot.
func (c *snapshotCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		id, err := s.Sandbox(ctx, c.Sandbox)
		if err != nil {
			return err
		}
		r := schemas.SnapshotRequest{Name: c.Name}
		if c.NoPause {
			r.Pause = new(bool)
		}
		made, err := waiting(e, "taking a snapshot", func() (client.Answer[schemas.Snapshot], error) { return s.Snapshot(ctx, id, r) })
		if err != nil {
			return err
		}
		return s.answer(made.JSON, string(made.Value.ID))
	})
}
