package dockerbackend

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

const (
	preparedRepository = "mcp-sandbox/prepared"
	helperPrefix       = "mcp-sandbox-prepare-" // of containers that prepared images are made from
)

// recipeVersion changes when what is put into prepared images does.
const recipeVersion = "1"

// recipe names a way of preparing images: two images of one base and one recipe
// are alike.
func (b *Backend) recipe(guest guestBinary) string {
	sum := sha256.Sum256([]byte(recipeVersion + " " + guest.hash + " " + b.user.String()))
	return hex.EncodeToString(sum[:8])
}

func preparedName(baseID, recipe string) string {
	_, digest, _ := strings.Cut(baseID, ":")
	return fmt.Sprintf("%s:%.32s-%s", preparedRepository, digest, recipe)
}

// preparedImage returns the name and the ID of the image that sandboxes of base
// are made from, after making it if it is not there.
func (b *Backend) preparedImage(ctx context.Context, base image.InspectResponse, arch string, last lookedAhead) (name, id string, err error) {
	guest, err := b.guest.get(arch)
	if err != nil {
		return "", "", err
	}
	recipe := b.recipe(guest)
	name = preparedName(base.ID, recipe)
	id, err = shared(ctx, b, name, func(ctx context.Context) (string, error) {
		found, err := last.inspect(ctx, b, name)
		if !cerrdefs.IsNotFound(err) {
			return found.ID, err
		}
		if err := b.bake(ctx, name, base, recipe, guest); err != nil {
			return "", err
		}
		// By name: another server may have been faster.
		found, err = b.docker.inspectImage(ctx, name)
		return found.ID, err
	})
	return name, id, err
}

// bake makes a prepared image from a container that is never started, so that
// nothing of the image runs with rights that a sandbox has not.
func (b *Backend) bake(ctx context.Context, name string, base image.InspectResponse, recipe string, guest guestBinary) (err error) {
	helper := helperPrefix + randomHex(8)
	defer b.helping(helper)()
	var undo undo
	undo.add(func(ctx context.Context) {
		if err := b.destroyContainer(ctx, helper); err != nil {
			go b.destroyLater(helper)
		}
	})
	defer func() { undo.run(ctx) }()

	c, h := helperConfig(b.cfg.Instance, base, recipe)
	if err := b.docker.createContainer(ctx, helper, c, h); err != nil {
		return err
	}
	faults.Point("docker.helper_made")
	if err := b.putGuest(ctx, helper, guest); err != nil {
		return err
	}
	if err := b.putWorkspace(ctx, helper); err != nil {
		return err
	}
	if err := b.checkLayer(ctx, helper, guest); err != nil {
		return err
	}
	faults.Point("docker.helper_filled")
	err = b.docker.commit(ctx, helper, name)
	faults.Point("docker.committed")
	return err
}

// helperConfig describes the container that is committed; the image takes its
// settings over. Docker merges those of the base in, so an environment and
// VOLUME paths cannot be taken out here: every container gets rid of them.
func helperConfig(instance string, base image.InspectResponse, recipe string) (*container.Config, *container.HostConfig) {
	masks := map[string]string{}
	if base.Config != nil {
		for v := range base.Config.Volumes {
			// No anonymous volume, and with one at /workspace what is copied
			// there would not be part of the image. The container never runs.
			masks[volumePath(v)] = "ro"
		}
	}
	c := &container.Config{
		Image:       base.ID,
		Labels:      labels(instance, map[string]string{labelBase: base.ID, labelBuild: recipe}),
		User:        "65534:65534", // for whoever runs the image by hand
		Entrypoint:  []string{guestProgram, "guest"},
		Cmd:         []string{},
		WorkingDir:  "/",
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		StopSignal:  "SIGKILL",
	}
	return c, &container.HostConfig{NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}, Tmpfs: masks}
}

// destroyLater removes a helper that could not be removed at once: nobody else
// would look for it soon.
func (b *Backend) destroyLater(helper string) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		select {
		case <-time.After(pause):
		case <-b.ctx.Done():
			return
		}
		if b.destroyContainer(b.ctx, helper) == nil {
			return
		}
	}
}

// helping marks a container as in use for as long as it is prepared, so that
// List does not report it as left over.
func (b *Backend) helping(name string) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.helpers[name] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.helpers, name)
	}
}

func randomHex(bytes int) string {
	random := make([]byte, bytes)
	rand.Read(random)
	return hex.EncodeToString(random)
}
