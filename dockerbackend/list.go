package dockerbackend

import (
	"cmp"
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
		name := containerName(c)
		if b.claims(c.Labels, time.Unix(c.Created, 0)) && !isByHand(firstName(c), c.Labels) && !b.isHelping(name) {
			found = append(found, manager.Found{Kind: manager.FoundContainer, Name: name})
		}
	}
	for _, v := range volumes {
		created, _ := time.Parse(time.RFC3339, v.CreatedAt) // zero when unknown
		if b.claims(v.Labels, created) {
			found = append(found, manager.Found{Kind: manager.FoundVolume, Name: v.Name})
		}
	}
	// What is left of the network when its last container went without us.
	network, idle, err := b.idleNetwork(ctx)
	if err == nil && idle && b.owns(network.Labels) {
		found = append(found, manager.Found{Kind: manager.FoundNetwork, Name: b.cfg.NetworkName})
	}
	return found, err
}

// strangeAge is how old a managed thing that names no server must be, when it was
// made in this server's time: another program may be at work on it.
const strangeAge = 15 * time.Minute

// claims tells whether what has no record is this server's to clear away.
func (b *Backend) claims(labels map[string]string, created time.Time) bool {
	_, named := labels[labelInstance]
	return b.owns(labels) && (named || created.Before(b.started) || time.Since(created) > strangeAge)
}

func containerName(c container.Summary) string { return cmp.Or(firstName(c), c.ID) }

// firstName is empty for one that is half removed and has lost its name.
func firstName(c container.Summary) string {
	if len(c.Names) == 0 {
		return ""
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
	switch f.Kind {
	case manager.FoundVolume:
		return b.removeOwnVolume(ctx, f.Name)
	case manager.FoundNetwork:
		return b.dropNetwork(ctx)
	}
	release, err := b.locks.overtake(ctx, f.Name)
	if err != nil {
		return err
	}
	defer release()
	return b.removeOwnContainer(ctx, f.Name)
}
