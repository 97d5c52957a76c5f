package main

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// removedAtOnce bounds how many are being removed at a time.
const removedAtOnce = 4

type rmCmd struct {
	Force bool `short:"f" help:"Be content when there is no such sandbox or snapshot."`

	Names []string `arg:"" complete:"sandboxes,snapshots" name:"id" type:"words" help:"Sandboxes and snapshots: IDs, beginnings of IDs, or names."`

	reach
}

// Help ends the page of --help.
func (*rmCmd) Help() string {
	return `What runs in a sandbox ends. Its snapshots stay, and so do sandboxes that were made from a snapshot. Nothing is removed unless all that is named is clear. For example:

    mcp-sandbox rm sb_0123456789abcdef before-upgrade`
}

// Run removes sandboxes and snapshots.
func (c *rmCmd) Run(e *env) error {
	return c.run(e, func(ctx context.Context, s *session) error {
		refs, err := c.find(ctx, s)
		if err != nil {
			return err
		}
		_, err = waiting(e, "removing", func() (struct{}, error) { return struct{}{}, c.remove(ctx, s, refs) })
		return err
	})
}

// find finds all of them, each once.
func (c *rmCmd) find(ctx context.Context, s *session) (refs []client.Ref, err error) {
	var wrong []error
	for _, name := range c.Names {
		ref, err := s.Find(ctx, client.OfSandboxes|client.OfSnapshots, name)
		switch {
		case c.Force && client.IsCode(err, schemas.CodeNotFound):
		case err != nil:
			wrong = append(wrong, err)
		case !slices.Contains(refs, ref):
			refs = append(refs, ref)
		}
	}
	return refs, severalOf(wrong)
}

// remove goes on with the others when one cannot be removed.
func (c *rmCmd) remove(ctx context.Context, s *session, refs []client.Ref) error {
	failed := make([]error, len(refs))
	var all errgroup.Group
	all.SetLimit(removedAtOnce)
	for i, ref := range refs {
		all.Go(func() error {
			failed[i] = s.remove(ctx, ref)
			if c.Force && client.IsCode(failed[i], schemas.CodeNotFound) {
				failed[i] = nil
			}
			return nil
		})
	}
	_ = all.Wait() // failures are in failed
	return severalOf(failed)
}

func (s *session) remove(ctx context.Context, ref client.Ref) error {
	if ref.Snapshot != "" {
		return s.DeleteSnapshot(ctx, ref.Snapshot)
	}
	return s.Destroy(ctx, ref.Sandbox)
}
