package dockerbackend

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

var removeImageOptions = image.RemoveOptions{}

// freshBase makes an image like busybox, but with an ID of its own, settings
// that must not matter, and what files describe on top.
func (r *rig) freshBase(files ...*tar.Header) string {
	r.Helper()
	name := "mcp-sandbox/test-" + r.instance + ":" + randomHex(4)
	c, err := r.docker.ContainerCreate(r.ctx, &container.Config{
		Image: busybox, Cmd: []string{"/bin/sh"}, Env: []string{"FRESH=" + randomHex(4)},
		Labels: map[string]string{labelInstance: r.instance},
	}, nil, nil, nil, "")
	if err != nil {
		r.Fatalf("make image: %v", err)
	}
	defer r.docker.ContainerRemove(r.ctx, c.ID, container.RemoveOptions{})
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, f := range files {
		w.WriteHeader(f)
	}
	w.Close()
	if err := r.docker.CopyToContainer(r.ctx, c.ID, "/", &layer, container.CopyToContainerOptions{}); err != nil {
		r.Fatalf("make image: %v", err)
	}
	if _, err := r.docker.ContainerCommit(r.ctx, c.ID, container.CommitOptions{
		Reference: name, Changes: []string{"ONBUILD RUN false", "WORKDIR /not/there", "EXPOSE 80"},
	}); err != nil {
		r.Fatalf("make image: %v", err)
	}
	return name
}

// prune is pruneImages on the rig's own: others' tests are on the same daemon.
func (r *rig) prune(age time.Duration) {
	r.b.pruneImages(r.ctx, age, filters.Arg("label", labelInstance+"="+r.instance))
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

// foreignImage loads an image for another architecture, with nothing in it.
func (r *rig) foreignImage(arch string) string {
	r.Helper()
	name := "mcp-sandbox/test-" + r.instance + ":" + arch
	layer := make([]byte, 1024) // a tar without entries
	config := fmt.Sprintf(`{"architecture":%q,"os":"linux","config":{"Cmd":["/x"],"Labels":{%q:%q}},"rootfs":{"type":"layers","diff_ids":["sha256:%x"]}}`,
		arch, labelInstance, r.instance, sha256.Sum256(layer))
	manifest := fmt.Sprintf(`[{"Config":"config.json","RepoTags":[%q],"Layers":["layer.tar"]}]`, name)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for file, content := range map[string]string{"layer.tar": string(layer), "config.json": config, "manifest.json": manifest} {
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: 0o644, Size: int64(len(content))})
		w.Write([]byte(content))
	}
	w.Close()
	loaded, err := r.docker.ImageLoad(r.ctx, &archive)
	if err != nil {
		r.Fatalf("load image: %v", err)
	}
	defer loaded.Body.Close()
	io.Copy(io.Discard, loaded.Body)
	return name
}
