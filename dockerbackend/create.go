package dockerbackend

import (
	"context"
	"errors"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// incarnation is what one Create or Open works on.
type incarnation struct {
	ref      manager.Ref
	spec     manager.Spec
	image    manager.Image
	key      protocol.Key
	creation string // label of what this call makes
}

func newIncarnation(ref manager.Ref, spec manager.Spec, image manager.Image) (incarnation, error) {
	key, err := parseKey(ref.Key)
	return incarnation{ref, spec, image, key, randomHex(8)}, err
}

// Create implements [manager.Backend].
func (b *Backend) Create(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (_ manager.Guest, err error) {
	i, err := newIncarnation(ref, spec, image)
	if err != nil {
		return nil, err
	}
	ctx, release, err := b.locks.hold(ctx, ref.Container)
	if err != nil {
		return nil, err
	}
	defer release()
	var undo undo
	defer func() {
		if err != nil && !isAway(ctx, err) {
			undo.run(ctx)
		}
	}()
	return b.create(ctx, i, &undo)
}

// isAway: there is no use in undoing anything, for Docker does not answer.
func isAway(ctx context.Context, err error) bool {
	return errors.Is(err, errSilent) || isUnavailable(err) && ctx.Err() == nil
}

func (b *Backend) create(ctx context.Context, i incarnation, undo *undo) (manager.Guest, error) {
	if i.spec.Network {
		undo.add(func(ctx context.Context) { _ = b.dropNetwork(ctx) }) // List names what stays
	}
	undo.add(func(ctx context.Context) { b.undoVolume(ctx, i) })
	if err := b.makeVolume(ctx, i); err != nil {
		return nil, err
	}
	faults.Point("docker.volume_made")
	undo.add(func(ctx context.Context) { b.undoContainer(ctx, i) })
	if err := b.makeContainer(ctx, i, true); err != nil {
		return nil, err
	}
	g, err := b.startAndGreet(ctx, i)
	if err != nil {
		return nil, err // not g, which would be a nil in an interface
	}
	return g, nil
}

// makeVolume makes the workspace's volume, still empty.
func (b *Backend) makeVolume(ctx context.Context, i incarnation) error {
	site, err := b.site(ctx)
	if err != nil {
		return err
	}
	// Docker answers a name that is taken with the volume that has it.
	made, err := b.docker.createVolume(ctx, volumeOptions(site, i.ref.Volume, i.creation))
	if cerrdefs.IsConflict(err) { // or with an error, when it differs too much
		conflict := err
		if made, err = b.docker.inspectVolume(ctx, i.ref.Volume); err != nil {
			return conflict
		}
	}
	if err == nil && made.Labels[labelCreation] != i.creation {
		return nameTaken(nil)
	}
	return err
}

func (b *Backend) undoVolume(ctx context.Context, i incarnation) {
	found, err := b.docker.inspectVolume(ctx, i.ref.Volume)
	if err == nil && found.Labels[labelCreation] == i.creation {
		err = b.destroyVolume(ctx, i.ref.Volume)
	}
	if err != nil && !cerrdefs.IsNotFound(err) {
		b.log.Warn("volume stays after a failed create", "volume", i.ref.Volume, "error", err)
	}
}

// makeContainer makes the container, not started. fresh: the volume is new and
// is to be filled from the image.
func (b *Backend) makeContainer(ctx context.Context, i incarnation, fresh bool) error {
	site, err := b.site(ctx)
	if err != nil {
		return err
	}
	return b.onNetwork(ctx, i.spec, func() error {
		c := containerConfig(site, i.spec, i.image, i.creation)
		h := hostConfig(site, i.ref, i.spec, i.image, fresh)
		err := b.docker.createContainer(ctx, i.ref.Container, c, h)
		faults.Point("docker.container_made")
		switch {
		case cerrdefs.IsConflict(err) && b.isTaken(ctx, i):
			return nameTaken(err)
		case cerrdefs.IsNotFound(err) && b.imageIsGone(ctx, i.image.ID):
			return imageGone(i.spec.Image, err)
		}
		return err
	})
}

// isTaken tells whether something else has the container's name.
func (b *Backend) isTaken(ctx context.Context, i incarnation) bool {
	found, err := b.docker.inspectContainer(ctx, i.ref.Container)
	return err == nil && found.Config.Labels[labelCreation] != i.creation
}

func (b *Backend) imageIsGone(ctx context.Context, id string) bool {
	_, err := b.docker.inspectImage(ctx, id)
	return cerrdefs.IsNotFound(err)
}

func (b *Backend) undoContainer(ctx context.Context, i incarnation) {
	found, err := b.docker.inspectContainer(ctx, i.ref.Container)
	if err == nil && found.Config.Labels[labelCreation] == i.creation {
		err = b.destroyContainer(ctx, i.ref.Container)
	}
	if err != nil && !cerrdefs.IsNotFound(err) {
		b.log.Warn("container stays after a failed create", "container", i.ref.Container, "error", err)
	}
}

// startAndGreet starts a container that is not running and connects to its
// guest. It attaches first, to miss nothing that a guest in trouble says, and
// greets at once: Docker passes the greeting on to the guest when there is one,
// which has answered by the time that Docker has noted the start.
func (b *Backend) startAndGreet(ctx context.Context, i incarnation) (*guest, error) {
	s, err := b.attach(ctx, i.ref.Container)
	if err != nil {
		return nil, err
	}
	faults.Point("docker.attached")
	greeting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	greeted := later(func() (*guest, error) { return b.greet(greeting, i.ref.Container, s, i.key) })
	if err := b.onNetwork(ctx, i.spec, func() error { return b.docker.startContainer(ctx, i.ref.Container) }); err != nil {
		cancel(err)
		if g, err := greeted(); err == nil {
			g.Close() // it runs, whatever Docker says: what becomes of it is the caller's matter
		}
		return nil, err
	}
	faults.Point("docker.started")
	defer time.AfterFunc(bootLimit, func() { cancel(noGreeting(bootLimit)) }).Stop()
	return greeted()
}
