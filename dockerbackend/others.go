package dockerbackend

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// Other is what Docker has of another server's sandboxes.
type Other struct {
	Instance   string
	Containers int
	Running    int // of the containers
	Volumes    int
	Newest     time.Time // when the newest of it was made; zero when unknown

	byHand []string // IDs, as docker ps shows them, of containers with its labels that are not its
}

// shortID is how much of an ID docker ps shows.
const shortID = 12

var safeLabel = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// Remove is a command for the shell that removes all of it, empty where the
// label might mean something to a shell.
func (o Other) Remove() string {
	if !safeLabel.MatchString(o.Instance) {
		return ""
	}
	filter := "--filter label=" + labelManaged + "=" + managed + " --filter label=" + labelInstance + "=" + o.Instance
	spare := ""
	if len(o.byHand) > 0 {
		spare = " | grep -vE '^(" + strings.Join(o.byHand, "|") + ")'"
	}
	return "docker ps -aq " + filter + spare + " | xargs -r docker rm -fv; docker volume ls -q " + filter + " | xargs -r docker volume rm"
}

// Others lists what carries the managed label and names another server than
// this one, most first. Whether that server lives is not to be seen.
func (b *Backend) Others(ctx context.Context) ([]Other, error) {
	ours := filters.Arg("label", labelManaged+"="+managed)
	containers, err := b.docker.listContainers(ctx, ours)
	if err != nil {
		return nil, err
	}
	volumes, err := b.docker.listVolumes(ctx, ours)
	if err != nil {
		return nil, err
	}
	others := map[string]*Other{}
	of := func(labels map[string]string) *Other {
		name := labels[labelInstance]
		if others[name] == nil {
			others[name] = &Other{Instance: name}
		}
		return others[name]
	}
	byHand := map[string][]string{}
	for _, c := range containers {
		switch name := c.Labels[labelInstance]; {
		case isByHand(firstName(c), c.Labels):
			byHand[name] = append(byHand[name], c.ID[:min(len(c.ID), shortID)])
		case !b.owns(c.Labels):
			of(c.Labels).addContainer(c)
		}
	}
	for _, v := range volumes {
		if !b.owns(v.Labels) {
			created, _ := time.Parse(time.RFC3339, v.CreatedAt) // zero when unknown
			of(v.Labels).Volumes++
			of(v.Labels).made(created)
		}
	}
	list := make([]Other, 0, len(others))
	for _, o := range slices.SortedFunc(maps.Values(others), func(a, b *Other) int {
		return cmp.Or(cmp.Compare(b.Containers+b.Volumes, a.Containers+a.Volumes), cmp.Compare(a.Instance, b.Instance))
	}) {
		o.byHand = byHand[o.Instance]
		list = append(list, *o)
	}
	return list, nil
}

func (o *Other) addContainer(c container.Summary) {
	o.Containers++
	if c.State == container.StateRunning || c.State == container.StatePaused {
		o.Running++
	}
	o.made(time.Unix(c.Created, 0))
}

func (o *Other) made(at time.Time) {
	if at.After(o.Newest) {
		o.Newest = at
	}
}
