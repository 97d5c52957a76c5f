package dockerbackend

import (
	"context"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Inspect implements [manager.Backend]. What has the name but is not this
// server's is not there.
func (b *Backend) Inspect(ctx context.Context, ref manager.Ref) (manager.State, error) {
	state := manager.State{Container: manager.ContainerGone}
	c, err := b.docker.inspectContainer(ctx, ref.Container)
	if err != nil && !cerrdefs.IsNotFound(err) {
		return manager.State{}, err
	}
	if err == nil && b.ownsContainer(c.Name, c.Config.Labels) {
		state.Container = containerState(c.State)
	}
	v, err := b.docker.inspectVolume(ctx, ref.Volume)
	if err != nil && !cerrdefs.IsNotFound(err) {
		return manager.State{}, err
	}
	state.Volume = err == nil && b.owns(v.Labels)
	return state, nil
}

func containerState(s *container.State) manager.ContainerState {
	switch {
	case s.Paused: // Docker says of such a one that it is running, too
		return manager.ContainerPaused
	case s.Running:
		return manager.ContainerRunning
	case s.Status == container.StateRemoving, s.Dead:
		return manager.ContainerGone
	}
	return manager.ContainerStopped
}
