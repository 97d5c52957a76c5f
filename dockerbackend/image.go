package dockerbackend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// PrepareImage implements [manager.Backend]. An image that is there locally is
// used as it is, and no registry is asked.
func (b *Backend) PrepareImage(ctx context.Context, ref string) (manager.Image, error) {
	parsed, err := parseReference(ref)
	if err != nil {
		return manager.Image{}, err
	}
	return shared(ctx, b, "image "+parsed.String(), func(ctx context.Context) (manager.Image, error) {
		return b.prepareImage(ctx, ref)
	})
}

func (b *Backend) prepareImage(ctx context.Context, ref string) (manager.Image, error) {
	last := b.lookAhead(ctx, ref)
	base, err := b.findImage(ctx, ref)
	if err != nil {
		return manager.Image{}, err
	}
	facts, err := b.hostFacts(ctx)
	if err != nil {
		return manager.Image{}, err
	}
	if err := checkImage(ref, base, facts.arch); err != nil {
		return manager.Image{}, err
	}
	name, id, err := b.preparedImage(ctx, base, facts.arch, last)
	if err != nil {
		return manager.Image{}, err
	}
	b.expected.Store(&expectation{ref, name})
	b.pruneSoon()
	return describeImage(id, base), nil
}

// findImage inspects an image, after pulling it if it is not there.
func (b *Backend) findImage(ctx context.Context, ref string) (image.InspectResponse, error) {
	found, err := b.docker.inspectImage(ctx, ref)
	if !cerrdefs.IsNotFound(err) {
		return found, err
	}
	if isID(ref) {
		return found, notPulled(ref, "is not there locally, and a registry cannot be asked for an ID", err)
	}
	if err := b.pull(ctx, ref); err != nil {
		return image.InspectResponse{}, err
	}
	found, err = b.docker.inspectImage(ctx, ref)
	if cerrdefs.IsNotFound(err) {
		return found, imageGone(ref, err)
	}
	return found, err
}

// HasImage implements [manager.Backend].
func (b *Backend) HasImage(ctx context.Context, ref string) (bool, error) {
	if _, err := parseReference(ref); err != nil {
		return false, err
	}
	_, err := b.docker.inspectImage(ctx, ref)
	if cerrdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// parseReference normalises a reference: "python" is docker.io/library/python:latest.
func parseReference(ref string) (reference.Reference, error) {
	parsed, err := reference.ParseAnyReference(ref)
	if err != nil {
		return nil, &manager.Error{
			Kind: manager.KindInvalid, Message: "image " + quote(ref) + " is not an image reference",
			Hint: `References look like "python:3.12-slim" or "registry.example/team/image@sha256:…".`, Cause: err,
		}
	}
	if named, ok := parsed.(reference.Named); ok {
		return reference.TagNameOnly(named), nil
	}
	return parsed, nil
}

// isID tells whether a reference is an image's ID. Docker's client would pull
// one as the tag of a repository called "sha256".
func isID(ref string) bool {
	parsed, err := parseReference(ref)
	_, named := parsed.(reference.Named)
	return err == nil && !named
}

// checkImage refuses what could not run here. An image that does not say what
// it is for (docker import of old) is given the benefit of the doubt.
func checkImage(ref string, i image.InspectResponse, host string) error {
	if i.Os != "" && i.Os != "linux" {
		return unfit(ref, "is for "+quote(i.Os)+", and sandboxes run Linux")
	}
	if !runsOn(i.Architecture, host) {
		return unfit(ref, fmt.Sprintf("is for %s, and Docker runs on %s", quote(i.Architecture), host))
	}
	for _, v := range volumes(i) {
		if at := volumePath(v); at == "/" || at == guestDir || strings.HasPrefix(at, guestDir+"/") {
			return unfit(ref, "declares a volume at "+quote(at)+", which sandboxes cannot have")
		}
	}
	return nil
}

func unfit(ref, why string) error {
	return &manager.Error{
		Kind: manager.KindInvalid, Message: "image " + quote(ref) + " " + why,
		Hint: "Use another image, or pull the right platform of this one (docker pull --platform).",
	}
}

// runsOn tells whether programs of an image run natively. Emulation is not
// counted on: whether the host has it cannot be asked.
func runsOn(image, host string) bool {
	switch image {
	case "", host:
		return true
	case "386":
		return host == "amd64"
	}
	return false
}

func describeImage(id string, base image.InspectResponse) manager.Image {
	described := manager.Image{ID: id, Volumes: volumes(base)}
	if base.Config != nil {
		described.Env = base.Config.Env
	}
	return described
}

// volumes are the paths an image declares as VOLUME. /workspace is no news: it
// is a volume anyway.
func volumes(i image.InspectResponse) (paths []string) {
	if i.Config == nil {
		return nil
	}
	for v := range i.Config.Volumes {
		if volumePath(v) != protocol.Workspace {
			paths = append(paths, v)
		}
	}
	slices.Sort(paths)
	return paths
}
