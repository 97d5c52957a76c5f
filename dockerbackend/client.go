package dockerbackend

import (
	"context"
	"io"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// dockerAPI is what this package uses of Docker. A socket proxy in front of it
// has to allow /containers, /volumes, /images, /networks, /commit, /_ping and
// /version; /info is made use of where it is allowed.
type dockerAPI interface {
	Ping(context.Context) (types.Ping, error)
	NegotiateAPIVersionPing(types.Ping)
	ClientVersion() string
	ServerVersion(context.Context) (types.Version, error)
	Info(context.Context) (system.Info, error)

	ContainerCreate(context.Context, *container.Config, *container.HostConfig, *network.NetworkingConfig, *ocispec.Platform, string) (container.CreateResponse, error)
	ContainerAttach(context.Context, string, container.AttachOptions) (types.HijackedResponse, error)
	ContainerStart(context.Context, string, container.StartOptions) error
	ContainerRestart(context.Context, string, container.StopOptions) error
	ContainerInspect(context.Context, string) (container.InspectResponse, error)
	ContainerList(context.Context, container.ListOptions) ([]container.Summary, error)
	ContainerRename(context.Context, string, string) error
	ContainerUpdate(context.Context, string, container.UpdateConfig) (container.UpdateResponse, error)
	ContainerRemove(context.Context, string, container.RemoveOptions) error
	ContainerCommit(context.Context, string, container.CommitOptions) (container.CommitResponse, error)
	ContainerStatPath(context.Context, string, string) (container.PathStat, error)
	CopyFromContainer(context.Context, string, string) (io.ReadCloser, container.PathStat, error)
	CopyToContainer(context.Context, string, string, io.Reader, container.CopyToContainerOptions) error

	VolumeCreate(context.Context, volume.CreateOptions) (volume.Volume, error)
	VolumeInspect(context.Context, string) (volume.Volume, error)
	VolumeList(context.Context, volume.ListOptions) (volume.ListResponse, error)
	VolumeRemove(context.Context, string, bool) error

	ImageInspect(context.Context, string, ...client.ImageInspectOption) (image.InspectResponse, error)
	ImageList(context.Context, image.ListOptions) ([]image.Summary, error)
	ImagePull(context.Context, string, image.PullOptions) (io.ReadCloser, error)
	ImageRemove(context.Context, string, image.RemoveOptions) ([]image.DeleteResponse, error)

	NetworkCreate(context.Context, string, network.CreateOptions) (network.CreateResponse, error)
	NetworkInspect(context.Context, string, network.InspectOptions) (network.Inspect, error)
	NetworkList(context.Context, network.ListOptions) ([]network.Summary, error)
	NetworkRemove(context.Context, string) error

	Close() error
}

var _ dockerAPI = (*client.Client)(nil)
