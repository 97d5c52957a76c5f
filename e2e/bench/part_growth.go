package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// growth measures what calls cost when there are more sandboxes and snapshots.
func (r *rig) growth() error { return withMore(r.growthAt) }

// growthAt is that with n of both, on a server of their own.
func (r *rig) growthAt(n int) error {
	name := fmt.Sprintf("growth%d", n)
	c, err := r.start(name, client.REST, "0")
	if err != nil {
		return err
	}
	place := len(r.all)
	r.all = append(r.all, c)
	ids := make([]schemas.SandboxID, n)
	for i := range ids {
		box, err := r.box(c)
		if err != nil {
			return err
		}
		ids[i] = box.ID
		if err := c.Call(r.ctx, "snapshot", args{"sandbox_id": box.ID}, nil); err != nil {
			return err
		}
	}
	first := func() error { return r.run(c, ids[0], "/bin/true") }
	for _, op := range []struct {
		what   string
		rounds int
		side   side
	}{
		{"exec", 50, side{do: first}},
		{"list sandboxes", 50, side{do: func() error { return c.Call(r.ctx, "sandbox_list", args{"limit": 100}, nil) }}},
		{"list snapshots", 50, side{do: func() error { return c.Call(r.ctx, "snapshot_list", args{"limit": 100}, nil) }}},
		{"restart, with an exec", 5, side{
			before: func() error { return stop(c) },
			do: func() error {
				if c, err = r.start(name, client.REST, "0"); err != nil {
					return err
				}
				r.all[place] = c
				return first()
			},
		}},
		{"an exec in each", 5, side{do: func() error {
			for _, id := range ids {
				if err := r.run(c, id, "/bin/true"); err != nil {
					return err
				}
			}
			return nil
		}}},
	} {
		op.side.name = v1
		if err := r.compare(fmt.Sprintf("%s, of %d", op.what, n), op.rounds, 1, op.side); err != nil {
			return err
		}
	}
	return r.reap(c, ids)
}

// reap measures how long it takes until all sandboxes are gone that expire within
// a second.
func (r *rig) reap(c *client.Client, ids []schemas.SandboxID) error {
	const left = 5
	expires := time.Now().Add(left * time.Second)
	for _, id := range ids {
		if err := c.Call(r.ctx, "sandbox_set_timeout", args{"sandbox_id": id, "timeout_seconds": left}, nil); err != nil {
			return err
		}
	}
	time.Sleep(time.Until(expires))
	for list := (schemas.SandboxList{Sandboxes: make([]schemas.Sandbox, 1)}); len(list.Sandboxes) > 0; time.Sleep(10 * time.Millisecond) {
		list = schemas.SandboxList{}
		if err := c.Call(r.ctx, "sandbox_list", args{"limit": 1}, &list); err != nil {
			return err
		}
	}
	if err := r.awaitGone(c); err != nil {
		return err
	}
	r.once(fmt.Sprintf("from expiry until all are gone, of %d", len(ids)), v1, "ms", float64(time.Since(expires).Milliseconds()))
	return nil
}

// stop ends a server as an operator does.
func stop(c *client.Client) error {
	err := c.Signal(os.Interrupt)
	if _, late := c.ExitCode(30 * time.Second); late != nil {
		err = errors.Join(err, late)
	}
	return err
}
