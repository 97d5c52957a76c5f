package main

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type createCmd struct {
	Name           string            `placeholder:"NAME" help:"A label, by which commands find the sandbox too while it is the only one of that name."`
	Image          string            `placeholder:"IMAGE" help:"Container image. Default: the server's."`
	CPUs           *float64          `name:"cpus" placeholder:"CORES" min:"0.01" max:"1024" help:"CPU limit in cores; fractions are allowed. Default: the server's, which is 1 unless set."`
	MemoryMB       *int64            `name:"memory-mb" placeholder:"MIB" min:"1" max:"16777216" help:"Memory limit in MiB. Default: the server's, which is 512 unless set."`
	PidsLimit      *int64            `placeholder:"N" min:"1" max:"4194304" help:"Limit of processes and threads. Default: the server's, which is 256 unless set."`
	Network        bool              `help:"Let the sandbox reach a network."`
	WritableRootfs bool              `help:"Let commands write outside /workspace and /tmp too; snapshots do not hold that."`
	Timeout        *time.Duration    `type:"lifetime" placeholder:"TIME" help:"Time to live, as 90s, 15m or 1h30m; then the sandbox is destroyed. Default: the server's, which is 15m unless set."`
	Env            map[string]string `short:"e" type:"pairs" placeholder:"NAME=VALUE" help:"Environment variable that every command in the sandbox sees. May be repeated. With NAME alone, its value here."`

	reach
}

// Help ends the page of --help.
func (*createCmd) Help() string {
	return `Only the ID is printed, so it can be kept:

    id=$(mcp-sandbox create --timeout 1h --name build)
    mcp-sandbox exec $id 'python3 --version'
    mcp-sandbox rm $id

The first sandbox of an image that is not on the server's machine waits until it is pulled.`
}

// Run creates a sandbox.
func (c *createCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		r := schemas.CreateSandboxRequest{
			Name: c.Name, Image: c.Image, CPUs: c.CPUs, MemoryMB: c.MemoryMB, PidsLimit: c.PidsLimit,
			TimeoutSeconds: seconds(c.Timeout), Env: c.Env,
		}
		if c.Network {
			r.Network = &c.Network
		}
		if c.WritableRootfs {
			r.ReadOnlyRootfs = new(bool)
		}
		made, err := waiting(e, "creating a sandbox", func() (client.Answer[schemas.Sandbox], error) { return s.Create(ctx, r) })
		if err != nil {
			return err
		}
		return s.answer(made.JSON, string(made.Value.ID))
	})
}

// seconds is a time as the API has it.
func seconds(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	n := int64(*d / time.Second)
	return &n
}
