package dockerbackend

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
)

// Docker looks for the name before it makes a network, not while it does: servers
// that make theirs at the same moment get one each, and from then on Docker refuses
// all that goes by the name. Whoever meets that keeps the oldest, as all the others
// do, and removes the rest.

// findNetwork is the network, of which there is one afterwards.
func (b *Backend) findNetwork(ctx context.Context) (network.Inspect, error) {
	found, err := b.docker.inspectNetwork(ctx, b.cfg.NetworkName)
	if !ambiguous(err) {
		return found, err
	}
	if err := b.removeTwins(ctx); err != nil {
		return network.Inspect{}, err
	}
	return b.docker.inspectNetwork(ctx, b.cfg.NetworkName)
}

func (b *Backend) removeTwins(ctx context.Context) error {
	all, err := b.docker.listNetworks(ctx, filters.Arg("label", labelManaged+"="+managed), filters.Arg("name", b.cfg.NetworkName))
	if err != nil {
		return err
	}
	// Docker's filter takes a part of the name.
	all = slices.DeleteFunc(all, func(n network.Summary) bool { return n.Name != b.cfg.NetworkName })
	slices.SortFunc(all, func(a, b network.Summary) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	for _, twin := range all[min(1, len(all)):] {
		if err := b.docker.removeNetwork(ctx, twin.ID); isUnavailable(err) {
			return err
		} else if err != nil { // another server was faster, or a container runs on it
			b.log.Debug("second network of the name stays", "error", err)
		}
	}
	return nil
}

// ambiguous reads text: Docker says only that the request is wrong.
func ambiguous(err error) bool {
	return err != nil && strings.Contains(err.Error(), "is ambiguous")
}
