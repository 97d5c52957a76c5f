package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type forkCmd struct {
	Count     int64             `short:"n" placeholder:"N" default:"1" min:"1" max:"20" help:"How many sandboxes to create. Default 1."`
	Name      string            `placeholder:"NAME" help:"A label for the new sandboxes."`
	CPUs      *float64          `name:"cpus" placeholder:"CORES" min:"0.01" max:"1024" help:"CPU limit in cores. Default: as the source."`
	MemoryMB  *int64            `name:"memory-mb" placeholder:"MIB" min:"1" max:"16777216" help:"Memory limit in MiB. Default: as the source."`
	PidsLimit *int64            `placeholder:"N" min:"1" max:"4194304" help:"Limit of processes and threads. Default: as the source."`
	Network   *bool             `negatable:"" help:"Let the new sandboxes reach a network, or not. Default: as the source."`
	Timeout   *time.Duration    `type:"lifetime" placeholder:"TIME" help:"Time to live of each, as 90s, 15m or 1h30m. Default: the server's, which is 15m unless set."`
	Env       map[string]string `short:"e" type:"pairs" placeholder:"NAME=VALUE" help:"Environment variable over those of the source. May be repeated. With NAME alone, its value here."`

	Source string `arg:"" complete:"sandboxes,snapshots" help:"A snapshot or a sandbox: ID, beginning of an ID, or name."`

	reach
}

// Help ends the page of --help.
func (*forkCmd) Help() string {
	return `Each new sandbox's /workspace starts as the source's is. Of a sandbox a snapshot is taken first, and kept. The IDs are printed, one a line:

    for id in $(mcp-sandbox fork -n 3 $snap); do mcp-sandbox exec $id ./try.sh & done; wait`
}

// Run creates sandboxes from another's state.
func (c *forkCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		from, err := s.Find(ctx, client.OfSandboxes|client.OfSnapshots, c.Source)
		if err != nil {
			return err
		}
		n := int(c.Count)
		r := schemas.ForkRequest{
			Count: &n, Name: c.Name, TimeoutSeconds: seconds(c.Timeout), Network: c.Network,
			CPUs: c.CPUs, MemoryMB: c.MemoryMB, PidsLimit: c.PidsLimit, Env: c.Env,
		}
		made, err := waiting(e, "forking", func() (client.Answer[schemas.ForkResult], error) {
			if from.Snapshot != "" {
				return s.ForkSnapshot(ctx, from.Snapshot, r)
			}
			return s.ForkSandbox(ctx, from.Sandbox, r)
		})
		if err != nil {
			return err
		}
		return s.forked(made)
	})
}

// forked prints what was made, and fails for what was not.
func (s *session) forked(made client.Answer[schemas.ForkResult]) error {
	var ids bytes.Buffer
	for _, b := range made.Value.Sandboxes {
		fmt.Fprintln(&ids, b.ID)
	}
	if s.json {
		if err := s.answer(made.JSON, ""); err != nil {
			return err
		}
	} else if err := s.print(ids.Bytes()); err != nil {
		return err
	}
	var failed []string
	for _, e := range made.Value.Errors {
		failed = append(failed, e.Message)
	}
	if len(failed) == 0 {
		return nil
	}
	first := made.Value.Errors[0]
	first.Message = fmt.Sprintf("%d of %d forks were not made: %s", len(failed), len(failed)+len(made.Value.Sandboxes), strings.Join(failed, "; "))
	return &client.Error{Body: first}
}
