package dockerbackend

import (
	"cmp"
	"context"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// Remove implements [manager.Backend].
func (b *Backend) Remove(ctx context.Context, ref manager.Ref) error {
	release, err := b.locks.overtake(ctx, ref.Container)
	if err != nil {
		return err
	}
	defer release()
	if err := b.removeOwnContainer(ctx, ref.Container); err != nil {
		return err
	}
	return b.removeVolumeIf(ctx, ref.Volume, func(labels map[string]string) (bool, error) {
		if len(labels) == 0 {
			return b.unclaimed(ctx, ref.Volume)
		}
		return b.owns(labels), nil
	})
}

// unclaimed reports whether the volume of a record whose container is gone is
// still this server's although it has no labels: a daemon that ends while it
// makes a volume keeps the volume and forgets them. The name is enough then,
// since it is like no other; but not while a container of somebody else's has
// the volume.
func (b *Backend) unclaimed(ctx context.Context, volume string) (bool, error) {
	users, err := b.docker.listContainers(ctx, filters.Arg("volume", volume))
	return len(users) == 0, err
}

// removeOwnContainer destroys a container if it is this server's, by its ID, so
// that a namesake which takes its place meanwhile is safe.
func (b *Backend) removeOwnContainer(ctx context.Context, name string) error {
	found, err := b.docker.inspectContainer(ctx, name)
	if cerrdefs.IsNotFound(err) || err == nil && !b.ownsContainer(found.Name, found.Config.Labels) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.destroyContainer(ctx, found.ID); err != nil {
		return err
	}
	faults.Point("docker.container_removed")
	if string(found.HostConfig.NetworkMode) == b.cfg.NetworkName {
		go b.dropNetwork(b.ctx)
	}
	return nil
}

func (b *Backend) removeOwnVolume(ctx context.Context, name string) error {
	return b.removeVolumeIf(ctx, name, func(labels map[string]string) (bool, error) { return b.owns(labels), nil })
}

func (b *Backend) removeVolumeIf(ctx context.Context, name string, ours func(labels map[string]string) (bool, error)) error {
	found, err := b.docker.inspectVolume(ctx, name)
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if is, err := ours(found.Labels); !is || err != nil {
		return err
	}
	err = b.destroyVolume(ctx, name)
	faults.Point("docker.volume_removed")
	return err
}

// destroyContainer returns nil only once the container is gone.
func (b *Backend) destroyContainer(ctx context.Context, name string) error {
	return b.docker.destroy(ctx,
		func() error { return b.docker.removeContainer(ctx, name) },
		func() error { _, err := b.docker.inspectContainer(ctx, name); return err })
}

// destroyVolume returns nil only once the volume is gone.
func (b *Backend) destroyVolume(ctx context.Context, name string) error {
	return b.docker.destroy(ctx,
		func() error { return b.docker.removeVolume(ctx, name) },
		func() error { _, err := b.docker.inspectVolume(ctx, name); return err })
}

// destroy tries a removal for some time. Docker answers "conflict" while another
// removal of the same container is under way, or while a volume's container is on
// its way out; it may also miss a container's end on a busy machine and say so.
// All of these pass. Success is believed when the thing cannot be found any more:
// its name will be forgotten.
func (e *engine) destroy(ctx context.Context, remove, find func() error) error {
	for deadline := time.Now().Add(e.patience.Load().destroy); ; {
		err := remove()
		if err == nil {
			err = find()
		}
		if cerrdefs.IsNotFound(err) {
			return nil
		}
		if isUnavailable(err) {
			return err
		}
		if time.Now().After(deadline) {
			return cmp.Or(err, refused("remove", "it stays there", nil))
		}
		select {
		case <-ctx.Done():
			return dockerError("remove", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
