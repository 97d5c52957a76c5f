package dockerbackend

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

const probeLimit = 4 * time.Second

// Probe implements [manager.Backend].
func (b *Backend) Probe(ctx context.Context) (manager.BackendInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeLimit, errSilent)
	defer cancel()
	version, err := b.docker.version(ctx)
	if err != nil {
		return manager.BackendInfo{}, err
	}
	info := manager.BackendInfo{Version: version.Version, API: b.docker.api.ClientVersion(), Runtime: b.cfg.Runtime}
	settings, err := b.docker.info(ctx)
	switch {
	case isUnavailable(err):
		return info, err
	case err != nil: // a proxy may deny it
		return info, nil
	case info.Runtime == "":
		info.Runtime = settings.DefaultRuntime
	default:
		_, known := settings.Runtimes[info.Runtime]
		err = checkRuntime(info.Runtime, known)
	}
	return info, err
}

func checkRuntime(name string, known bool) error {
	if known {
		return nil
	}
	return &manager.Error{
		Kind: manager.KindBackend, Message: "Docker has no runtime " + quote(name),
		Hint: "Install and register it with Docker, or change AGENT_SANDBOX_DOCKER_RUNTIME.",
	}
}
