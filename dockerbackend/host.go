package dockerbackend

import (
	"context"
	"runtime"
	"sync/atomic"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
)

// hostFacts does not change while a Docker daemon runs.
type hostFacts struct {
	arch string // in Go's words
	cpus int    // 0: unknown
	sure bool   // Docker was not just in trouble when it was asked
}

// hostCache remembers them. A daemon that is replaced by one on other hardware,
// under a running server, is not provided for.
type hostCache = atomic.Pointer[hostFacts]

func (b *Backend) hostFacts(ctx context.Context) (hostFacts, error) {
	if known := b.host.Load(); known != nil {
		return *known, nil
	}
	facts, err := shared(ctx, b, "Docker's host", b.askHost)
	if err == nil && facts.sure {
		b.host.Store(&facts)
	}
	return facts, err
}

func (b *Backend) askHost(ctx context.Context) (hostFacts, error) {
	version, err := b.docker.version(ctx)
	if isUnavailable(err) {
		return hostFacts{}, err
	}
	facts := hostFacts{arch: version.Arch, sure: !cerrdefs.IsInternal(err)}
	if facts.arch == "" { // a proxy may deny /version
		facts.arch = runtime.GOARCH
	}
	// A proxy may well deny /info; the number of CPUs can be done without.
	info, err := b.docker.info(ctx)
	if isUnavailable(err) {
		return hostFacts{}, err
	}
	facts.cpus = info.NCPU
	facts.sure = facts.sure && !cerrdefs.IsInternal(err)
	return facts, nil
}

func (e *engine) version(ctx context.Context) (types.Version, error) {
	return look(ctx, e, "ask for Docker's version", sensible(e.api.ServerVersion, saysVersion))
}

func (e *engine) info(ctx context.Context) (system.Info, error) {
	return look(ctx, e, "ask for Docker's settings", sensible(e.api.Info, saysInfo))
}

// site is what containers made now have in common.
func (b *Backend) site(ctx context.Context) (site, error) {
	facts, err := b.hostFacts(ctx)
	return site{
		instance: b.cfg.Instance, user: b.user, runtime: b.cfg.Runtime,
		network: b.cfg.NetworkName, tmpMB: b.cfg.TmpSizeMB, cpus: facts.cpus,
	}, err
}
