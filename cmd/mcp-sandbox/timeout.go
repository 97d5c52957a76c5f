package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type timeoutCmd struct {
	Sandbox string        `arg:"" complete:"sandboxes" help:"ID, beginning of an ID, or name."`
	Time    time.Duration `arg:"" type:"lifetime" help:"New time to live, as 90s, 15m or 1h30m."`

	reach
}

// Help ends the page of --help.
func (*timeoutCmd) Help() string {
	return `Nothing else prolongs a sandbox's life: when its time is up it is destroyed, whatever runs in it. When that is, is printed. For example:

    mcp-sandbox timeout $id 2h`
}

// Run sets a sandbox's time to live.
func (c *timeoutCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		id, err := s.Sandbox(ctx, c.Sandbox)
		if err != nil {
			return err
		}
		set, err := s.SetTimeout(ctx, id, schemas.SetTimeoutRequest{TimeoutSeconds: int64(c.Time / time.Second)})
		if err != nil {
			return err
		}
		b := set.Value
		return s.answer(set.JSON, fmt.Sprintf("%s expires at %s", b.ID, b.ExpiresAt.Local().Format(time.RFC3339)))
	})
}
