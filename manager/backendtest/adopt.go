package backendtest

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

var _ manager.Adopter = (*Fake)(nil)

// Fits implements Adopter.
func (f *Fake) Fits(made, want manager.Spec) bool {
	return made.Network == want.Network && made.ReadOnlyRootfs == want.ReadOnlyRootfs
}

// Adopt implements Adopter. A fake container has no limits to change.
func (f *Fake) Adopt(ctx context.Context, _ manager.Guest, from, to manager.Ref, _, _ manager.Spec) error {
	return f.call(ctx, OpAdopt, func() error {
		c := f.containers[from.Container]
		switch {
		case c == nil:
			return fail(manager.KindBackend, "there is no container %s", from.Container)
		case f.containers[to.Container] != nil:
			return fail(manager.KindConflict, "container name is taken")
		}
		delete(f.containers, from.Container)
		c.name = to.Container
		f.containers[to.Container] = c
		return nil
	})
}
