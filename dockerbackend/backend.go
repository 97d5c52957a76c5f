package dockerbackend

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/client"
	"golang.org/x/sync/singleflight"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Config of a Backend.
type Config struct {
	Instance    string // label value of this server's things
	SandboxUser string // numeric "uid:gid" that everything in a sandbox runs as
	Runtime     string // OCI runtime; empty: Docker's default
	NetworkName string // bridge for sandboxes with network, made on demand
	TmpSizeMB   int64  // size of /tmp
	GuestPath   string // guest binary to use in place of the embedded one
	Log         *slog.Logger
}

// Backend implements [manager.Backend].
type Backend struct {
	cfg    Config
	user   owner
	log    *slog.Logger
	docker *engine
	guest  *guestBinaries

	locks   *locks       // by container name
	network sync.RWMutex // read: a container is being put on the network; write: it is being removed
	host    hostCache    // what does not change while Docker runs
	flights singleflight.Group
	pruning pruner

	expected atomic.Pointer[expectation] // of the next PrepareImage

	started time.Time

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
	helpers map[string]bool     // containers that images are being prepared in
	guests  map[*guest]struct{} // open connections
}

var _ manager.Backend = (*Backend)(nil)

// New makes a Backend for the engine that every Docker client finds
// (DOCKER_HOST and so on). It makes no call: Docker may be away.
func New(cfg Config) (*Backend, error) {
	user, err := parseUser(cfg.SandboxUser)
	if err != nil {
		return nil, err
	}
	api, err := client.NewClientWithOpts(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("set up Docker client: %w", err)
	}
	return newBackend(cfg, user, api), nil
}

func newBackend(cfg Config, user owner, api dockerAPI) *Backend {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b := &Backend{
		cfg: cfg, user: user, log: cfg.Log,
		docker:  newEngine(api, cfg.Log),
		guest:   &guestBinaries{path: cfg.GuestPath},
		locks:   newLocks(),
		started: time.Now(),
		helpers: map[string]bool{},
		guests:  map[*guest]struct{}{},
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Name implements [manager.Backend].
func (b *Backend) Name() string { return "docker" }

// Close implements [manager.Backend].
func (b *Backend) Close() error {
	b.cancel()
	b.pruning.stop()
	b.mu.Lock()
	open := b.guests
	b.guests = map[*guest]struct{}{}
	b.mu.Unlock()
	for g := range open {
		g.client.Close()
	}
	return b.docker.api.Close()
}
