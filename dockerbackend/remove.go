package dockerbackend

import (
	"context"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
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
	return b.removeOwnVolume(ctx, ref.Volume)
}

// removeOwnContainer destroys a container if it is this server's, by its ID, so
// that a namesake which takes its place meanwhile is safe.
func (b *Backend) removeOwnContainer(ctx context.Context, name string) error {
	found, err := b.docker.inspectContainer(ctx, name)
	if cerrdefs.IsNotFound(err) || err == nil && !b.owns(found.Config.Labels) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.destroyContainer(ctx, found.ID); err != nil {
		return err
	}
	if string(found.HostConfig.NetworkMode) == b.cfg.NetworkName {
		go b.dropNetwork(b.ctx)
	}
	return nil
}

func (b *Backend) removeOwnVolume(ctx context.Context, name string) error {
	found, err := b.docker.inspectVolume(ctx, name)
	if cerrdefs.IsNotFound(err) || err == nil && !b.owns(found.Labels) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.destroyVolume(ctx, name)
}

// destroyContainer returns nil only once the container is gone.
func (b *Backend) destroyContainer(ctx context.Context, name string) error {
	return destroy(ctx, func() error { return b.docker.removeContainer(ctx, name) })
}

// destroyVolume returns nil only once the volume is gone.
func (b *Backend) destroyVolume(ctx context.Context, name string) error {
	return destroy(ctx, func() error { return b.docker.removeVolume(ctx, name) })
}

// destroyLimit is for how long a removal is tried. Docker answers "conflict"
// while another removal of the same container is under way, or while a volume's
// container is on its way out; it may also miss a container's end on a busy
// machine and say so. All of these pass.
const destroyLimit = 20 * time.Second

func destroy(ctx context.Context, remove func() error) error {
	for deadline := time.Now().Add(destroyLimit); ; {
		err := remove()
		if err == nil || cerrdefs.IsNotFound(err) {
			return nil
		}
		if isUnavailable(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return dockerError("remove", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
