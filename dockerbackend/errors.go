package dockerbackend

import (
	"context"
	"errors"
	"net/http"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errhttp"
	"github.com/docker/docker/client"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// dockerError types what a call to Docker returned; doing says what the call
// was for, as "start container". Messages are ours: Docker's own text may name
// host paths and other people's containers, so it stays in the cause, for the log.
func dockerError(doing string, err error) error {
	var typed *manager.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return err
	case unreachable(err):
		return unavailable(doing, err)
	case errors.Is(err, context.Canceled):
		return &manager.Error{Kind: manager.KindUnavailable, Message: doing + ": the call was cancelled", Retryable: true, Cause: err}
	case cerrdefs.IsNotFound(err):
		return refused(doing, "something that it needs is gone", err)
	case cerrdefs.IsConflict(err), cerrdefs.IsAlreadyExists(err):
		// No KindConflict: that is for a name that is taken, and for what is paused.
		return &manager.Error{
			Kind: manager.KindBackend, Message: doing + ": it clashes with what Docker is doing", Retryable: true,
			Hint: "Try again; the server's log holds Docker's reason.", Cause: err,
		}
	case cerrdefs.IsInvalidArgument(err):
		return &manager.Error{
			Kind: manager.KindInvalid, Message: doing + ": Docker does not accept these settings",
			Hint: "The server's log holds Docker's reason. Try other limits or another image.", Cause: err,
		}
	case cerrdefs.IsPermissionDenied(err), cerrdefs.IsUnauthorized(err):
		return refused(doing, "Docker, or a proxy in front of it, does not permit it", err)
	case outOfSpace(err):
		return &manager.Error{Kind: manager.KindNoSpace, Message: doing + ": Docker's disk is full", Hint: "Free some space on the Docker host (docker system df).", Cause: err}
	}
	return refused(doing, "Docker refused", err)
}

func refused(doing, why string, err error) error {
	return &manager.Error{Kind: manager.KindBackend, Message: doing + ": " + why, Hint: "The server's log holds Docker's reason.", Cause: err}
}

func unavailable(doing string, err error) error {
	return &manager.Error{
		Kind: manager.KindUnavailable, Message: doing + ": Docker cannot be reached or does not answer",
		Hint: "Check that Docker runs (docker version), then try again.", Retryable: true, Cause: err,
	}
}

// unreachable: no connection, a connection that broke, no answer in time, or one
// that is not Docker's.
func unreachable(err error) bool {
	return errors.Is(err, errSilent) || errors.Is(err, context.DeadlineExceeded) ||
		client.IsErrConnectionFailed(err) || cerrdefs.IsUnavailable(err) || broken(err) ||
		errors.Is(err, errNonsense) || notJSON(err) || gateway(err)
}

// gateway: something in front of Docker says that it cannot reach it.
func gateway(err error) bool {
	return errors.Is(err, errhttp.ToNative(http.StatusBadGateway)) || errors.Is(err, errhttp.ToNative(http.StatusGatewayTimeout))
}

// outOfSpace reads text, because Docker passes ENOSPC on as a plain status 500.
func outOfSpace(err error) bool {
	return strings.Contains(err.Error(), "no space left on device") || strings.Contains(err.Error(), "disk quota exceeded")
}

// isUnavailable tells whether a typed error means that Docker is away.
func isUnavailable(err error) bool { return manager.KindOf(err) == manager.KindUnavailable }

// imageGone is the error for an image that vanished between its preparation and
// its use.
func imageGone(reference string, err error) error {
	return &manager.Error{
		Kind: manager.KindInvalid, Message: "image " + quote(reference) + " is no longer there", Retryable: true,
		Hint: "It was removed from Docker meanwhile; try again.", Cause: err,
	}
}

func nameTaken(err error) error {
	return &manager.Error{
		Kind: manager.KindConflict, Message: "the sandbox's name is taken in Docker",
		Hint: "Something that is not this sandbox has a container or volume of that name.", Cause: err,
	}
}

// paused is the error for a container that somebody froze from outside.
func paused() error {
	return &manager.Error{
		Kind: manager.KindConflict, Message: "the sandbox's container is paused", Retryable: true,
		Hint: "Somebody paused it in Docker: unpause it there, or roll back or destroy the sandbox.",
	}
}

func workspaceGone() error {
	return &manager.Error{
		Kind: manager.KindFailed, Message: "the sandbox's workspace is gone",
		Hint: "Its volume was removed from Docker. Roll back to a snapshot, or destroy the sandbox.",
	}
}

func quote(reference string) string {
	if len(reference) > 200 {
		reference = reference[:200] + "…"
	}
	return `"` + strings.ToValidUTF8(reference, "�") + `"`
}
