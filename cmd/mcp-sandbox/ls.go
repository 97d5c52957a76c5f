package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type lsCmd struct {
	Snapshots bool   `short:"s" help:"List snapshots."`
	Of        string `complete:"sandboxes" placeholder:"SANDBOX" help:"List the snapshots taken of this sandbox, which may be gone by now."`
	Quiet     bool   `short:"q" help:"Print IDs only."`

	reach
}

// Help ends the page of --help.
func (*lsCmd) Help() string {
	return `Oldest first. For example, to remove all there is:

    mcp-sandbox rm $(mcp-sandbox ls -q) $(mcp-sandbox ls -sq)`
}

// Run lists sandboxes or snapshots.
func (c *lsCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		if !c.Snapshots && c.Of == "" {
			all, err := s.Sandboxes(ctx)
			if err != nil {
				return err
			}
			return list(s, "sandboxes", all, c.Quiet, sandboxID, sandboxColumns, sandboxRow)
		}
		of, err := c.of(ctx, s)
		if err != nil {
			return err
		}
		all, err := s.Client.Snapshots(ctx, of)
		if err != nil {
			return err
		}
		return list(s, "snapshots", all, c.Quiet, snapshotID, snapshotColumns, snapshotRow)
	})
}

func (c *lsCmd) of(ctx context.Context, s *session) (schemas.SandboxID, error) {
	if c.Of == "" {
		return "", nil
	}
	return s.Sandbox(ctx, c.Of)
}

// list prints what there is as the API does, as a table, or as IDs alone.
func list[T any](s *session, name string, all []client.Answer[T], quiet bool, id func(T) string, columns []string, row func(T, time.Time) []string) error {
	if s.json {
		raw := make([]json.RawMessage, len(all))
		for i, a := range all {
			raw[i] = a.JSON
		}
		body, err := json.Marshal(map[string]any{name: raw})
		if err != nil {
			return fmt.Errorf("encode list: %w", err)
		}
		return s.answer(body, "")
	}
	var out bytes.Buffer
	if quiet {
		for _, a := range all {
			fmt.Fprintln(&out, id(a.Value))
		}
		return s.print(out.Bytes())
	}
	now := time.Now()
	rows := [][]string{columns}
	for _, a := range all {
		rows = append(rows, row(a.Value, now))
	}
	return s.print(table(rows))
}

var sandboxColumns = []string{"ID", "NAME", "STATUS", "IMAGE", "AGE", "EXPIRES IN"}

func sandboxID(b schemas.Sandbox) string { return string(b.ID) }

func sandboxRow(b schemas.Sandbox, now time.Time) []string {
	return []string{string(b.ID), b.Name, string(b.Status), b.Image, short(now.Sub(b.CreatedAt)), short(b.ExpiresAt.Sub(now))}
}

var snapshotColumns = []string{"ID", "NAME", "SANDBOX", "IMAGE", "FILES", "SIZE", "AGE"}

func snapshotID(b schemas.Snapshot) string { return string(b.ID) }

func snapshotRow(b schemas.Snapshot, now time.Time) []string {
	return []string{string(b.ID), b.Name, string(b.SandboxID), b.Image, strconv.FormatInt(b.Files, 10), bytesText(b.SizeBytes), short(now.Sub(b.CreatedAt))}
}
