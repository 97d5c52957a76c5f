package dockerbackend

import (
	"context"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	backendtest.Run(t, backendtest.Options{
		New:   func(t *testing.T) manager.Backend { return r.quietServer(t) },
		Image: busybox,
		StopContainer: func(ctx context.Context, name string) error {
			return r.docker.ContainerKill(ctx, name, "KILL")
		},
		RemoveContainer: func(ctx context.Context, name string) error {
			return r.docker.ContainerRemove(ctx, name, container.RemoveOptions{Force: true})
		},
		RemoveVolume: r.removeVolume,
	})
}

// quietServer is a server whose log does not outlive a subtest.
func (r *rig) quietServer(t *testing.T) *Backend {
	t.Helper()
	b, err := New(Config{
		Instance: r.instance, SandboxUser: "1000:1000", NetworkName: "net-" + r.instance, TmpSizeMB: 64, GuestPath: r.guest,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// removeVolume removes a volume with the containers that use it.
func (r *rig) removeVolume(ctx context.Context, name string) error {
	users, err := r.docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("volume", name))})
	if err != nil {
		return err
	}
	for _, c := range users {
		if err := r.docker.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true}); err != nil && !cerrdefs.IsNotFound(err) {
			return err
		}
	}
	return r.docker.VolumeRemove(ctx, name, false)
}
