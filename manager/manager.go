package manager

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Owner is a namespace: the name of the key that made a sandbox or snapshot.
type Owner string

// DefaultOwner is the owner behind keys without a name, and behind stdio.
const DefaultOwner Owner = "default"

// Manager is the one core behind both doors. All methods may be called at once
// from many goroutines.
type Manager struct {
	cfg     Config
	backend Backend
	log     *slog.Logger
	lock    *flock.Flock
	store   *store
	snaps   *snapStore

	instance string // what this server is called in the backend

	// making bounds simultaneous creations: a daemon gets slower, not faster,
	// with more.
	making   *semaphore.Weighted
	creating atomic.Int64 // creations and those that wait for their turn
	removing *semaphore.Weighted
	looking  *semaphore.Weighted // of sweeps
	pool     *pool

	// ctx ends, with closing() as cause, when Close begins.
	ctx  context.Context
	stop context.CancelCauseFunc
	wake chan struct{} // asks the reconciler for a round

	// away is true while the backend is known not to answer.
	away atomic.Bool

	mu        sync.Mutex // guards what follows; never held across I/O
	closed    bool
	sandboxes map[schemas.SandboxID]*sandbox
	slots     int // taken of MaxSandboxes; what is condemned has none
	tasks     sync.WaitGroup
}

const maxCreations = 4

// New opens the data directory (taking its lock) and loads records. It makes no
// backend call.
func New(cfg Config, b Backend) (*Manager, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = machineClock
	}
	lock, instance, err := takeDataDir(cfg.DataDir, cfg.Log)
	if err != nil {
		return nil, err
	}
	m := &Manager{
		cfg: cfg, backend: b, log: cfg.Log, lock: lock, instance: instance,
		making:    semaphore.NewWeighted(maxCreations),
		removing:  semaphore.NewWeighted(maxRemovals),
		looking:   semaphore.NewWeighted(maxLooks),
		wake:      make(chan struct{}, 1),
		sandboxes: map[schemas.SandboxID]*sandbox{},
	}
	m.ctx, m.stop = context.WithCancelCause(context.Background())
	m.pool = newPool(m, cfg.WarmPool)
	if err := m.loadRecords(); err != nil {
		lock.Close()
		return nil, err
	}
	return m, nil
}

func (m *Manager) loadRecords() (err error) {
	if m.store, err = openStore(m.cfg.DataDir, m.log); err != nil {
		return err
	}
	m.store.instance = m.instance
	if m.snaps, err = openSnapStore(m.cfg.DataDir, m.log); err != nil {
		return err
	}
	records, err := m.store.load()
	if err != nil {
		return err
	}
	for _, r := range records {
		m.adopt(recovered(r))
	}
	faults.Point("start.loaded")
	m.log.Info("loaded records", "sandboxes", len(records))
	return nil
}

// Start begins reconciling and reaping in the background; it returns at once.
func (m *Manager) Start() {
	for _, s := range m.all() {
		m.arm(s)
	}
	m.spawn(m.reconcileLoop)
	m.spawn(m.reapLoop)
	m.spawn(m.poolLoop)
}

// Config returns the limits in force.
func (m *Manager) Config() Config { return m.cfg }

const (
	// drainTime is how long Close waits for calls that it has cancelled. A
	// stdio server has 5 s from end of input to its exit in all.
	drainTime = 2 * time.Second
	// taskTime is how long it then waits for work in the background.
	taskTime = 2 * time.Second
)

// Close ends background work and calls in flight, and releases the data
// directory. Sandboxes stay.
func (m *Manager) Close() error {
	if !m.beginClose() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	m.drain(ctx)
	if !m.awaitTasks(taskTime) {
		m.log.Warn("closed with work still going on; the next start finishes it")
	}
	if err := m.lock.Close(); err != nil {
		return fmt.Errorf("release data directory: %w", err)
	}
	return nil
}

func (m *Manager) beginClose() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.closed = true
	m.stop(closing())
	return true
}

// drain turns every call out of every sandbox and lets go of its guest.
func (m *Manager) drain(ctx context.Context) {
	all := m.all()
	var inside []*pass
	for _, s := range all {
		inside = append(inside, s.gate.close(closing(), closing())...)
	}
	if err := awaitLeft(ctx, inside); err != nil {
		m.log.Warn("closed with calls still inside sandboxes", "calls", len(inside))
	}
	for _, s := range all {
		s.stopTimer()
		s.currentLink().retire(ctx)
	}
}
