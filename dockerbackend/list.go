package dockerbackend

import (
	"context"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// List implements [manager.Backend]. It goes by labels alone, never by names.
func (b *Backend) List(ctx context.Context) ([]manager.Found, error) {
	ours := filters.Arg("label", labelManaged+"="+managed)
	containers, err := b.docker.listContainers(ctx, ours)
	if err != nil {
		return nil, err
	}
	volumes, err := b.docker.listVolumes(ctx, ours)
	if err != nil {
		return nil, err
	}
	var found []manager.Found
	for _, c := range containers {
		if name := containerName(c); b.owns(c.Labels) && !b.isHelping(name) {
			found = append(found, manager.Found{Kind: manager.FoundContainer, Name: name, Created: time.Unix(c.Created, 0)})
		}
	}
	for _, v := range volumes {
		if b.owns(v.Labels) {
			created, _ := time.Parse(time.RFC3339, v.CreatedAt) // zero when unknown
			found = append(found, manager.Found{Kind: manager.FoundVolume, Name: v.Name, Created: created})
		}
	}
	return found, nil
}

func containerName(c container.Summary) string {
	if len(c.Names) == 0 { // one that is half removed may have lost its name
		return c.ID
	}
	return strings.TrimPrefix(c.Names[0], "/")
}

func (b *Backend) isHelping(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.helpers[name]
}

// RemoveFound implements [manager.Backend].
func (b *Backend) RemoveFound(ctx context.Context, f manager.Found) error {
	if f.Kind == manager.FoundVolume {
		return b.removeOwnVolume(ctx, f.Name)
	}
	release, err := b.locks.overtake(ctx, f.Name)
	if err != nil {
		return err
	}
	defer release()
	return b.removeOwnContainer(ctx, f.Name)
}
