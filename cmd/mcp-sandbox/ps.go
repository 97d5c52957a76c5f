package main

import (
	"context"
	"strconv"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type psCmd struct {
	Sandbox string `arg:"" complete:"sandboxes" help:"ID, beginning of an ID, or name."`

	reach
}

// Help ends the page of --help.
func (*psCmd) Help() string {
	return `Those that run, and the last that have ended, oldest first. For example:

    mcp-sandbox ps $id`
}

// Run lists background commands.
func (c *psCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		id, err := s.Sandbox(ctx, c.Sandbox)
		if err != nil {
			return err
		}
		list, err := s.Execs(ctx, id)
		if err != nil {
			return err
		}
		if s.json {
			return s.answer(list.JSON, "")
		}
		rows := [][]string{{"ID", "STATUS", "EXIT CODE", "AGE", "COMMAND"}}
		for _, x := range list.Value.Execs {
			rows = append(rows, execRow(x, time.Now()))
		}
		return s.print(table(rows))
	})
}

func execRow(x schemas.ExecInfo, now time.Time) []string {
	code := ""
	if x.ExitCode != nil {
		code = strconv.Itoa(*x.ExitCode)
	}
	return []string{string(x.ExecID), string(x.Status), code, short(now.Sub(x.StartedAt)), x.Command}
}
