package dockerbackend

import (
	"testing"

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
