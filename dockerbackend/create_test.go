package dockerbackend

import (
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
)

func TestCreateRunRemove(t *testing.T) {
	r := newRig(t)
	box := r.create(spec(busybox))
	if got := box.sh("echo hello; id -u"); got != "hello\n1000\n" {
		t.Errorf("got %q", got)
	}
	if err := r.b.Remove(r.ctx, box.ref); err != nil {
		t.Errorf("remove: %v", err)
	}
	if left := r.volumes(); len(left) > 0 {
		t.Errorf("volumes left: %v", left)
	}
}

// containers are those that carry the rig's instance, whoever made them.
func (r *rig) containers() (names []string) {
	list, err := r.docker.ContainerList(r.ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelInstance+"="+r.instance))})
	if err != nil {
		r.Errorf("list containers: %v", err)
	}
	for _, c := range list {
		names = append(names, containerName(c))
	}
	return names
}

func (r *rig) volumes() (names []string) {
	list, err := r.docker.VolumeList(r.ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelInstance+"="+r.instance))})
	if err != nil {
		r.Errorf("list volumes: %v", err)
	}
	for _, v := range list.Volumes {
		names = append(names, v.Name)
	}
	return names
}
