package main

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type rollbackCmd struct {
	Sandbox  string `arg:"" complete:"sandboxes" help:"ID, beginning of an ID, or name."`
	Snapshot string `arg:"" complete:"snapshots" help:"ID, beginning of an ID, or name."`

	reach
}

// Help ends the page of --help.
func (*rollbackCmd) Help() string {
	return `The sandbox keeps its ID and its time to live, and its /workspace is as in the snapshot. Everything else starts afresh: what runs in it ends. The ID is printed. For example:

    mcp-sandbox rollback $id before-upgrade`
}

// Run rolls a sandbox back.
func (c *rollbackCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		id, err := s.Sandbox(ctx, c.Sandbox)
		if err != nil {
			return err
		}
		to, err := s.FindSnapshot(ctx, c.Snapshot)
		if err != nil {
			return err
		}
		back, err := waiting(e, "rolling back", func() (client.Answer[schemas.Sandbox], error) {
			return s.Rollback(ctx, id, schemas.RollbackRequest{SnapshotID: to})
		})
		if err != nil {
			return err
		}
		return s.answer(back.JSON, string(back.Value.ID))
	})
}
