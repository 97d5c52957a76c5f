package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// The sides, by their names in the table.
const (
	api       = "Docker Engine API"
	apiBare   = "Docker Engine API, without the exec"
	cli       = "docker command"
	v1        = "/v1"
	v1Pool    = "/v1, from the pool"
	v1Cold    = "/v1, without the pool"
	mcp       = "MCP stdio"
	floor     = "a shell's attached streams"
	floorHTTP = "a shell's attached streams, behind HTTP"
)

type args = map[string]any

// rig is all that is measured: three servers, each with a data directory of its
// own, and Docker.
type rig struct {
	ctx    context.Context
	dir    string
	docker *docker
	rest   *client.Client // with a pool
	cold   *client.Client // without
	stdio  *client.Client // with a pool
	all    []*client.Client
	part   string
	report report
	twin   *twin // of a sandbox's container, made by Docker's own calls
}

func newRig(ctx context.Context) (r *rig, err error) {
	dir, err := os.MkdirTemp("", "mcp-sandbox-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a data directory: %w", err)
	}
	r = &rig{ctx: ctx, dir: dir, docker: newDocker()}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	for _, s := range []struct {
		c    **client.Client
		name string
		door client.Door
		pool string
	}{{&r.rest, "rest", client.REST, "2"}, {&r.cold, "cold", client.REST, "0"}, {&r.stdio, "stdio", client.Stdio, "2"}} {
		if *s.c, err = r.start(s.name, s.door, s.pool); err != nil {
			return nil, err
		}
		r.all = append(r.all, *s.c)
	}
	r.twin, err = r.newTwin()
	return r, err
}

const key = "bench-key-0123456789"

func (r *rig) start(name string, door client.Door, pool string) (*client.Client, error) {
	return client.Start(r.ctx, client.Options{
		Apart:  true, // they must be there to clean up by
		Binary: *server, Door: door, Key: key, Env: []string{"AGENT_SANDBOX_API_KEYS=" + key},
		Args: []string{
			"--data-dir=" + filepath.Join(r.dir, name), "--default-image=" + *image, "--warm-pool=" + pool,
			"--max-sandboxes=200", "--log-level=warn", "--max-exec-output-bytes=209715200", "--max-file-bytes=209715200",
		},
	})
}

// close destroys everything and ends the servers.
func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if r.twin != nil {
		r.twin.removeAll(ctx)
	}
	for _, c := range r.all {
		var list schemas.SandboxList
		c.Call(ctx, "sandbox_list", args{"limit": 1000}, &list)
		for _, box := range list.Sandboxes {
			c.Call(ctx, "sandbox_destroy", args{"sandbox_id": box.ID}, nil)
		}
		if c != r.stdio { // it has no metrics
			r.awaitGone(c)
		}
		c.Signal(os.Interrupt)
		if _, err := c.ExitCode(10 * time.Second); err != nil {
			c.Kill()
		}
	}
	os.RemoveAll(r.dir)
}
