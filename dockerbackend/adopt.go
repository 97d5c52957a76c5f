package dockerbackend

import (
	"context"
	"fmt"
	"maps"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

var _ manager.Adopter = (*Backend)(nil)

// Fits implements [manager.Adopter]: what a container's creation fixes is the
// same for both.
func (b *Backend) Fits(made, want manager.Spec) bool {
	s := site{tmpMB: b.cfg.TmpSizeMB}
	return made.Network == want.Network && made.ReadOnlyRootfs == want.ReadOnlyRootfs &&
		shmOf(made) == shmOf(want) && maps.Equal(tmpfs(s, made, nil), tmpfs(s, want, nil))
}

// Adopt implements [manager.Adopter]. The name comes last: who knows the new one
// finds a container that is as it should be. Neither call's answer says what
// Docker did, so that it is asked: a sandbox must not be one that nobody finds
// by its name, or that has limits other than its own.
func (b *Backend) Adopt(ctx context.Context, mg manager.Guest, from, to manager.Ref, made, want manager.Spec) error {
	ctx, release, err := b.locks.hold(ctx, from.Container)
	if err != nil {
		return err
	}
	defer release()
	ctx, release, err = b.locks.hold(ctx, to.Container)
	if err != nil {
		return err
	}
	defer release()
	site, err := b.site(ctx)
	if err != nil {
		return err
	}
	if limits, same := changedLimits(resources(site, made), resources(site, want)); !same {
		if err := b.docker.limitContainer(ctx, from.Container, limits); err != nil {
			return err
		}
	}
	faults.Point("docker.limited")
	err = b.docker.renameContainer(ctx, from.Container, to.Container)
	if cerrdefs.IsConflict(err) {
		return nameTaken(err)
	}
	if err != nil {
		return err
	}
	if err := b.confirmAdopted(ctx, to.Container, resources(site, want)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	mg.(*guest).container = to.Container
	return nil
}

func (b *Backend) confirmAdopted(ctx context.Context, name string, want container.Resources) error {
	c, err := b.docker.inspectContainer(ctx, name)
	if err != nil {
		return err
	}
	if _, same := changedLimits(c.HostConfig.Resources, want); !same {
		return fmt.Errorf("container %q has other limits than it was given: %w", name, errNonsense)
	}
	return nil
}

// changedLimits is what an update must name: only what it can change.
func changedLimits(made, want container.Resources) (limits container.Resources, same bool) {
	limits = container.Resources{
		NanoCPUs: want.NanoCPUs, Memory: want.Memory, MemorySwap: want.MemorySwap, PidsLimit: want.PidsLimit,
	}
	same = made.NanoCPUs == want.NanoCPUs && made.Memory == want.Memory &&
		made.PidsLimit != nil && *made.PidsLimit == *want.PidsLimit
	return limits, same
}
