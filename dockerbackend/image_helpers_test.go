package dockerbackend

import (
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
)

var removeImageOptions = image.RemoveOptions{}

// freshBase makes an image like busybox, but with an ID of its own.
func (r *rig) freshBase() string {
	r.Helper()
	name := "mcp-sandbox/test-" + strings.ToLower(r.instance) + ":" + randomHex(4)
	c, err := r.docker.ContainerCreate(r.ctx, &container.Config{
		Image: busybox, Cmd: []string{"/bin/sh"}, Env: []string{"FRESH=" + randomHex(4)},
		Labels: map[string]string{labelInstance: r.instance},
	}, nil, nil, nil, "")
	if err != nil {
		r.Fatalf("make image: %v", err)
	}
	defer r.docker.ContainerRemove(r.ctx, c.ID, container.RemoveOptions{})
	if _, err := r.docker.ContainerCommit(r.ctx, c.ID, container.CommitOptions{Reference: name}); err != nil {
		r.Fatalf("make image: %v", err)
	}
	return name
}

func (r *rig) wantImage(id string, want bool) {
	r.Helper()
	_, err := r.docker.ImageInspect(r.ctx, id)
	if err != nil && !cerrdefs.IsNotFound(err) {
		r.Errorf("inspect image: %v", err)
	} else if has := err == nil; has != want {
		r.Errorf("image %s is there: %t, want %t", id, has, want)
	}
}

func mustInspect(r *rig, ref string) image.InspectResponse {
	r.Helper()
	i, err := r.docker.ImageInspect(r.ctx, ref)
	if err != nil {
		r.Fatal(err)
	}
	return i
}
