package dockerbackend

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/jsonmessage"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Limits of a pull. Docker answers only once the registry has described the
// image, which is a matter of a second or two; from then on there is progress.
const (
	registryLimit = 9 * time.Second
	stallLimit    = time.Minute
	pullLimit     = 20 * time.Minute
)

var errStalled = errors.New("no progress")

// pull fetches an image from its registry.
func (b *Backend) pull(ctx context.Context, ref string) error {
	if err := b.docker.ready(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pullLimit, errStalled)
	defer cancel()
	b.log.Info("pulling image", "image", ref)
	began := time.Now()
	if err := b.docker.pull(ctx, ref, b.pullProgress(ref)); err != nil {
		b.log.Warn("image cannot be pulled", "image", ref, "error", err)
		return err
	}
	b.log.Info("pulled image", "image", ref, "duration", time.Since(began).Round(time.Millisecond))
	return nil
}

// ready fails if Docker does not answer, so that a pull which does not answer
// can be put down to the registry.
func (e *engine) ready(ctx context.Context) error {
	return dockerError("reach Docker", e.ping(ctx))
}

func (e *engine) pull(ctx context.Context, ref string, progress func(jsonmessage.JSONMessage)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(context.Canceled)
	stall := time.AfterFunc(registryLimit, func() { cancel(errStalled) })
	defer stall.Stop()
	messages, err := e.api.ImagePull(ctx, ref, image.PullOptions{})
	if err != nil {
		return pullError(ctx, ref, err)
	}
	defer messages.Close()
	for decoder := json.NewDecoder(messages); ; {
		var m jsonmessage.JSONMessage
		switch err := decoder.Decode(&m); {
		case err == io.EOF:
			return nil
		case err != nil:
			return pullError(ctx, ref, err)
		case m.Error != nil:
			return notPulled(ref, "cannot be pulled from its registry", m.Error)
		}
		stall.Reset(stallLimit)
		progress(m)
	}
}

// pullError says who is to blame: the reference, the registry or Docker.
func pullError(ctx context.Context, ref string, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStalled):
		return notPulled(ref, "is not there locally, and its registry does not answer", errors.Join(cause, err))
	case cause != nil:
		return dockerError("pull image", cause)
	case cerrdefs.IsNotFound(err), cerrdefs.IsUnauthorized(err), cerrdefs.IsPermissionDenied(err), cerrdefs.IsInvalidArgument(err):
		return notPulled(ref, "is not there locally, and its registry has none for us", err)
	case unreachable(err):
		return dockerError("pull image", err)
	}
	// Docker passes on whatever went wrong between it and the registry as a
	// plain status 500.
	return notPulled(ref, "is not there locally, and its registry could not be reached", err)
}

func notPulled(ref, why string, err error) error {
	return &manager.Error{
		Kind: manager.KindInvalid, Message: "image " + quote(ref) + " " + why,
		Hint: "Check the name, or bring the image onto the Docker host (docker pull, docker build, docker load).", Cause: err,
	}
}

// pullProgress logs a pull's steps, though not each byte.
func (b *Backend) pullProgress(ref string) func(jsonmessage.JSONMessage) {
	last := time.Now()
	return func(m jsonmessage.JSONMessage) {
		if m.Progress != nil && time.Since(last) < 5*time.Second {
			return
		}
		last = time.Now()
		b.log.Debug("pulling image", "image", ref, "layer", m.ID, "status", m.Status)
	}
}
