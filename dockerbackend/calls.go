package dockerbackend

import (
	"context"
	"io"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// The calls, each in the words of this package.

func (e *engine) inspectContainer(ctx context.Context, name string) (container.InspectResponse, error) {
	return look(ctx, e, "inspect container", sensible(func(ctx context.Context) (container.InspectResponse, error) {
		return e.api.ContainerInspect(ctx, name)
	}, saysContainer))
}

// listContainers lists containers in every state.
func (e *engine) listContainers(ctx context.Context, filter ...filters.KeyValuePair) ([]container.Summary, error) {
	return look(ctx, e, "list containers", sensible(func(ctx context.Context) ([]container.Summary, error) {
		return e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filter...)})
	}, saysContainers))
}

func (e *engine) createContainer(ctx context.Context, name string, c *container.Config, h *container.HostConfig) error {
	made, err := work(ctx, e, "create container", sensible(func(ctx context.Context) (container.CreateResponse, error) {
		return e.api.ContainerCreate(ctx, c, h, nil, nil, name)
	}, saysCreated))
	for _, warning := range made.Warnings {
		e.log.Debug("docker warns", "container", name, "warning", warning)
	}
	return err
}

func (e *engine) startContainer(ctx context.Context, name string) error {
	_, err := work(ctx, e, "start container", do(func(ctx context.Context) error {
		return e.api.ContainerStart(ctx, name, container.StartOptions{})
	}))
	return err
}

// restartContainer kills what runs: the guest of a sandbox heeds no signal.
func (e *engine) restartContainer(ctx context.Context, name string) error {
	now := 0
	_, err := work(ctx, e, "restart container", do(func(ctx context.Context) error {
		return e.api.ContainerRestart(ctx, name, container.StopOptions{Timeout: &now})
	}))
	return err
}

func (e *engine) renameContainer(ctx context.Context, name, to string) error {
	_, err := work(ctx, e, "rename container", do(func(ctx context.Context) error {
		return e.api.ContainerRename(ctx, name, to)
	}))
	return err
}

// limitContainer gives a container, running or not, other limits.
func (e *engine) limitContainer(ctx context.Context, name string, limits container.Resources) error {
	_, err := work(ctx, e, "limit container", func(ctx context.Context) (container.UpdateResponse, error) {
		return e.api.ContainerUpdate(ctx, name, container.UpdateConfig{Resources: limits})
	})
	return err
}

// removeContainer kills and removes, with the anonymous volumes if there are any.
func (e *engine) removeContainer(ctx context.Context, name string) error {
	_, err := work(ctx, e, "remove container", do(func(ctx context.Context) error {
		return e.api.ContainerRemove(ctx, name, container.RemoveOptions{Force: true, RemoveVolumes: true})
	}))
	return err
}

func (e *engine) commit(ctx context.Context, name, reference string) error {
	_, err := work(ctx, e, "commit image", sensible(func(ctx context.Context) (container.CommitResponse, error) {
		return e.api.ContainerCommit(ctx, name, container.CommitOptions{Reference: reference})
	}, saysCommitted))
	return err
}

func (e *engine) statPath(ctx context.Context, name, path string) (container.PathStat, error) {
	return look(ctx, e, "look into image", func(ctx context.Context) (container.PathStat, error) {
		return e.api.ContainerStatPath(ctx, name, path)
	})
}

// copyFrom hands the tar of a path to take.
func (e *engine) copyFrom(ctx context.Context, name, path string, take func(io.Reader) error) error {
	_, err := work(ctx, e, "copy from image", do(func(ctx context.Context) error {
		tar, _, err := e.api.CopyFromContainer(ctx, name, path)
		if err != nil {
			return err
		}
		defer tar.Close()
		return take(tar)
	}))
	return err
}

// copyTo extracts a tar at the root, with the owners that it names.
func (e *engine) copyTo(ctx context.Context, name string, tar io.Reader) error {
	_, err := work(ctx, e, "copy into image", do(func(ctx context.Context) error {
		return e.api.CopyToContainer(ctx, name, "/", tar, container.CopyToContainerOptions{AllowOverwriteDirWithFile: true})
	}))
	return err
}

func (e *engine) createVolume(ctx context.Context, o volume.CreateOptions) (volume.Volume, error) {
	return work(ctx, e, "create volume", sensible(func(ctx context.Context) (volume.Volume, error) {
		return e.api.VolumeCreate(ctx, o)
	}, saysVolume))
}

func (e *engine) inspectVolume(ctx context.Context, name string) (volume.Volume, error) {
	return look(ctx, e, "inspect volume", sensible(func(ctx context.Context) (volume.Volume, error) {
		return e.api.VolumeInspect(ctx, name)
	}, saysVolume))
}

func (e *engine) listVolumes(ctx context.Context, filter ...filters.KeyValuePair) ([]*volume.Volume, error) {
	list, err := look(ctx, e, "list volumes", sensible(func(ctx context.Context) (volume.ListResponse, error) {
		return e.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filter...)})
	}, saysVolumes))
	return list.Volumes, err
}

func (e *engine) removeVolume(ctx context.Context, name string) error {
	_, err := work(ctx, e, "remove volume", do(func(ctx context.Context) error {
		return e.api.VolumeRemove(ctx, name, false)
	}))
	return err
}

func (e *engine) inspectImage(ctx context.Context, name string) (image.InspectResponse, error) {
	return look(ctx, e, "inspect image", sensible(func(ctx context.Context) (image.InspectResponse, error) {
		return e.api.ImageInspect(ctx, name)
	}, saysImage))
}

func (e *engine) listImages(ctx context.Context, filter ...filters.KeyValuePair) ([]image.Summary, error) {
	return look(ctx, e, "list images", sensible(func(ctx context.Context) ([]image.Summary, error) {
		return e.api.ImageList(ctx, image.ListOptions{All: true, Filters: filters.NewArgs(filter...)})
	}, saysImages))
}

// removeImage never forces, so that Docker refuses while a container uses it,
// and never takes the base along, which is not ours.
func (e *engine) removeImage(ctx context.Context, name string) error {
	_, err := work(ctx, e, "remove image", func(ctx context.Context) ([]image.DeleteResponse, error) {
		return e.api.ImageRemove(ctx, name, image.RemoveOptions{})
	})
	return err
}

func (e *engine) inspectNetwork(ctx context.Context, name string) (network.Inspect, error) {
	return look(ctx, e, "inspect network", sensible(func(ctx context.Context) (network.Inspect, error) {
		return e.api.NetworkInspect(ctx, name, network.InspectOptions{})
	}, saysNetwork))
}

func (e *engine) listNetworks(ctx context.Context, filter ...filters.KeyValuePair) ([]network.Summary, error) {
	return look(ctx, e, "list networks", func(ctx context.Context) ([]network.Summary, error) {
		return e.api.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filter...)})
	})
}

func (e *engine) createNetwork(ctx context.Context, name string, o network.CreateOptions) error {
	_, err := work(ctx, e, "create network", func(ctx context.Context) (network.CreateResponse, error) {
		return e.api.NetworkCreate(ctx, name, o)
	})
	return err
}

func (e *engine) removeNetwork(ctx context.Context, id string) error {
	_, err := work(ctx, e, "remove network", do(func(ctx context.Context) error {
		return e.api.NetworkRemove(ctx, id)
	}))
	return err
}
