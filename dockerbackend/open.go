package dockerbackend

import (
	"context"
	"errors"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// Open implements [manager.Backend].
func (b *Backend) Open(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (manager.Guest, error) {
	i, err := newIncarnation(ref, spec, image)
	if err != nil {
		return nil, err
	}
	ctx, release, err := b.locks.hold(ctx, ref.Container)
	if err != nil {
		return nil, err
	}
	defer release()
	found, err := b.docker.inspectContainer(ctx, ref.Container)
	switch {
	case cerrdefs.IsNotFound(err):
		return b.remake(ctx, i)
	case err != nil:
		return nil, err
	case !b.ownsContainer(found.Name, found.Config.Labels):
		return nil, nameTaken(nil)
	}
	return b.open(ctx, i, found.State)
}

func (b *Backend) open(ctx context.Context, i incarnation, state *container.State) (manager.Guest, error) {
	switch {
	case state.Paused:
		return nil, paused()
	case state.Running:
		return b.openRunning(ctx, i)
	case state.Status == container.StateCreated || state.Status == container.StateExited:
		return b.openStopped(ctx, i)
	}
	return b.replace(ctx, i) // dead, or being removed
}

// openRunning connects to a guest that should be waiting. One that does not
// answer, not even the second time, is restarted; one that another release made
// is replaced.
func (b *Backend) openRunning(ctx context.Context, i incarnation) (manager.Guest, error) {
	g, version, err := b.connect(ctx, i)
	if guestIsSilent(err) {
		g, version, err = b.connect(ctx, i)
	}
	if guestIsSilent(err) {
		// A Docker that hangs would restart the container when it goes on.
		if err := b.docker.ready(ctx); err != nil {
			return nil, err
		}
		b.log.Warn("guest does not answer, restarting its container", "container", i.ref.Container, "error", err)
		if err := b.docker.restartContainer(ctx, i.ref.Container); err != nil {
			return nil, err
		}
		g, version, err = b.connect(ctx, i)
	}
	if err != nil {
		return nil, err
	}
	return b.upToDate(ctx, i, g, version)
}

// guestIsSilent tells whether err is the guest's silence and not Docker's, nor the
// caller's leaving: what runs in a container is not ended for those.
func guestIsSilent(err error) bool {
	return errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrHandshake)
}

// connect begins a session and asks for the guest's protocol version. That also
// shows that the session works: bytes which an earlier connection still had
// under way may have got into it.
func (b *Backend) connect(ctx context.Context, i incarnation) (_ *guest, version int, err error) {
	b.closeGuests(i.ref.Container)
	s, err := b.attach(ctx, i.ref.Container)
	if err != nil {
		return nil, 0, err
	}
	greeting, cancel := context.WithTimeoutCause(ctx, greetLimit, noGreeting(greetLimit))
	defer cancel()
	g, err := b.greet(greeting, i.ref.Container, s, i.key)
	if err != nil {
		return nil, 0, err
	}
	version, err = g.version(ctx)
	if err != nil {
		g.Close()
	}
	return g, version, err
}

// upToDate replaces the container if its guest speaks another version of the
// protocol, from before an update of the server.
func (b *Backend) upToDate(ctx context.Context, i incarnation, g *guest, version int) (manager.Guest, error) {
	if version == protocol.Version {
		return g, nil
	}
	g.Close()
	return b.replace(ctx, i)
}

// openStopped starts a container that was stopped. One that cannot be started,
// say because its network was made anew, is replaced.
func (b *Backend) openStopped(ctx context.Context, i incarnation) (manager.Guest, error) {
	if err := b.checkVolume(ctx, i.ref.Volume); err != nil {
		return nil, err
	}
	g, err := b.startAndGreet(ctx, i)
	if err == nil {
		var version int
		if version, err = g.version(ctx); err == nil {
			return b.upToDate(ctx, i, g, version)
		}
		g.Close()
	}
	if ctx.Err() != nil || isUnavailable(err) {
		return nil, err
	}
	b.log.Warn("container does not start, replacing it", "container", i.ref.Container, "error", err)
	return b.replace(ctx, i)
}

// replace makes a container anew on its volume.
func (b *Backend) replace(ctx context.Context, i incarnation) (manager.Guest, error) {
	if err := b.checkVolume(ctx, i.ref.Volume); err != nil {
		return nil, err
	}
	if err := b.destroyContainer(ctx, i.ref.Container); err != nil {
		return nil, err
	}
	return b.remake(ctx, i)
}

// remake makes a container that is gone again on its volume.
func (b *Backend) remake(ctx context.Context, i incarnation) (_ manager.Guest, err error) {
	if err := b.checkVolume(ctx, i.ref.Volume); err != nil {
		return nil, err
	}
	if i.image, err = b.currentImage(ctx, i); err != nil {
		return nil, err
	}
	var undo undo
	defer func() {
		if err != nil && !isAway(ctx, err) {
			undo.run(ctx)
		}
	}()
	undo.add(func(ctx context.Context) { b.undoContainer(ctx, i) })
	faults.Point("docker.remaking")
	if err := b.makeContainer(ctx, i, false); err != nil {
		return nil, err
	}
	g, err := b.startAndGreet(ctx, i)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// checkVolume makes sure that the workspace is there: Docker would make a new
// one without a word, and the sandbox would have lost its files unnoticed.
func (b *Backend) checkVolume(ctx context.Context, name string) error {
	found, err := b.docker.inspectVolume(ctx, name)
	switch {
	case cerrdefs.IsNotFound(err), err == nil && !b.owns(found.Labels):
		return workspaceGone()
	}
	return err
}

// currentImage is the image that a container was made from, or, when that is
// gone or has another guest than this server's, one prepared anew.
func (b *Backend) currentImage(ctx context.Context, i incarnation) (manager.Image, error) {
	found, err := b.docker.inspectImage(ctx, i.image.ID)
	if err != nil && !cerrdefs.IsNotFound(err) {
		return manager.Image{}, err
	}
	if err == nil && found.Config != nil && b.isCurrent(ctx, found.Config.Labels[labelBuild]) {
		return i.image, nil
	}
	image, err := b.PrepareImage(ctx, i.spec.Image)
	if manager.KindOf(err) == manager.KindInvalid && found.ID != "" {
		return i.image, nil // its base is gone, so the old guest has to do
	}
	return image, err
}
