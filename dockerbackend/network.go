package dockerbackend

import (
	"context"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// iccOption keeps containers on a bridge from reaching each other.
const iccOption = "com.docker.network.bridge.enable_icc"

// onNetwork does a step that needs the bridge, if the sandbox has network. The
// step is tried again once when it found something gone, or two bridges: another
// server, which shares the bridge, may just have seen it unused, or made one as
// well.
func (b *Backend) onNetwork(ctx context.Context, spec manager.Spec, step func() error) error {
	if !spec.Network {
		return step()
	}
	b.network.RLock()
	defer b.network.RUnlock()
	if err := b.ensureNetwork(ctx); err != nil {
		return err
	}
	err := step()
	gone := cerrdefs.IsNotFound(err) && manager.KindOf(err) != manager.KindInvalid
	if !gone && !ambiguous(err) {
		return err
	}
	if err := b.ensureNetwork(ctx); err != nil {
		return err
	}
	return step()
}

// ensureNetwork makes the bridge for sandboxes with network, unless it is there.
func (b *Backend) ensureNetwork(ctx context.Context) error {
	_, err := shared(ctx, b, "network", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.makeNetwork(ctx)
	})
	return err
}

func (b *Backend) makeNetwork(ctx context.Context) error {
	found, err := b.findNetwork(ctx)
	if cerrdefs.IsNotFound(err) {
		err = b.docker.createNetwork(ctx, b.cfg.NetworkName, networkOptions(b.cfg.Instance))
		faults.Point("docker.network_made")
		if err != nil && !cerrdefs.IsConflict(err) { // that: another server has just made it
			return err
		}
		found, err = b.findNetwork(ctx)
	}
	if err != nil {
		return err
	}
	return checkNetwork(found)
}

func networkOptions(instance string) network.CreateOptions {
	return network.CreateOptions{
		Driver:  "bridge",
		Labels:  labels(instance, nil),
		Options: map[string]string{iccOption: "false"},
	}
}

// checkNetwork refuses a network of that name that would not keep sandboxes
// apart; it may be anybody's.
func checkNetwork(n network.Inspect) error {
	if n.Driver == "bridge" && n.Options[iccOption] == "false" {
		return nil
	}
	return &manager.Error{
		Kind:    manager.KindBackend,
		Message: "Docker has a network of the configured name that does not keep sandboxes apart",
		Hint:    "Remove that network, or set AGENT_SANDBOX_NETWORK_NAME to another name.",
	}
}

// dropNetwork removes the network if it is managed and nobody is on it. Docker
// refuses to remove one that has just been joined.
func (b *Backend) dropNetwork(ctx context.Context) error {
	if !b.network.TryLock() {
		return nil // one is being put on it right now
	}
	defer b.network.Unlock()
	found, idle, err := b.idleNetwork(ctx)
	if err != nil || !idle {
		return err
	}
	err = b.docker.removeNetwork(ctx, found.ID)
	if isUnavailable(err) {
		return err
	}
	if err != nil && !cerrdefs.IsNotFound(err) {
		b.log.Debug("network stays", "error", err)
	}
	return nil
}

// idleNetwork is the network, if it is there and managed, while no container,
// running or not, is on it.
func (b *Backend) idleNetwork(ctx context.Context) (found network.Inspect, idle bool, err error) {
	found, err = b.findNetwork(ctx)
	if cerrdefs.IsNotFound(err) || err == nil && found.Labels[labelManaged] != managed {
		return found, false, nil
	}
	if err != nil {
		return found, false, err
	}
	// By name too: a container that was never started does not know the ID yet.
	users, err := b.docker.listContainers(ctx, filters.Arg("network", found.ID), filters.Arg("network", found.Name))
	return found, err == nil && len(users) == 0, err
}
