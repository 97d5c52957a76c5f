package manager

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const maxForks = 20

// Fork makes req.Count sandboxes (default 1) whose workspaces start as a
// snapshot. They are like the snapshot's source but for what req says, with a
// full time to live of their own: req's, or the server's default. With one fork
// asked for, its failure is the error; with several the result reports each.
func (m *Manager) Fork(ctx context.Context, o Owner, id schemas.SnapshotID, req schemas.ForkRequest) (_ schemas.ForkResult, err error) {
	defer m.observe("fork", time.Now(), &err)
	count, err := forkCount(req)
	if err != nil {
		return schemas.ForkResult{}, err
	}
	snap, err := m.snaps.usable(o, id)
	if err != nil {
		return schemas.ForkResult{}, err
	}
	p, err := m.planFork(ctx, snap, req)
	if err != nil {
		return schemas.ForkResult{}, m.explain(err)
	}
	return m.fork(ctx, p, count)
}

func forkCount(req schemas.ForkRequest) (int, error) {
	count := 1
	set(&count, req.Count)
	return count, within("count", int64(count), 1, maxForks)
}

// planFork checks a fork like a creation, against the limits of now.
func (m *Manager) planFork(ctx context.Context, snap snapRecord, req schemas.ForkRequest) (p plan, err error) {
	p = plan{Owner: snap.Owner, Name: req.Name, Parent: &snap.ID, Fill: m.unpacked(snap)}
	if err := checkName(req.Name); err != nil {
		return p, err
	}
	if p.TTL, err = m.checkTTL(req.TimeoutSeconds); err != nil {
		return p, err
	}
	p.Spec, err = m.shape(snap.Spec, overrides{
		CPUs: req.CPUs, MemoryMB: req.MemoryMB, PidsLimit: req.PidsLimit, Network: req.Network, Env: req.Env,
	})
	if err != nil {
		return p, err
	}
	return p, m.checkSourceImage(ctx, p.Spec.Image)
}

// checkSourceImage allows what a Create could get: the default, or an image that
// is allowed by name.
func (m *Manager) checkSourceImage(ctx context.Context, image string) error {
	standard, err := m.defaultImage(ctx)
	if err != nil || image == standard {
		return err
	}
	return m.checkImage(image)
}

// fork carries out a plan several times at once. Each counts against the limit
// by itself.
func (m *Manager) fork(ctx context.Context, p plan, count int) (schemas.ForkResult, error) {
	made, errs := make([]schemas.Sandbox, count), make([]error, count)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() { made[i], errs[i] = m.establish(ctx, p) })
	}
	wg.Wait()
	r := schemas.ForkResult{Sandboxes: []schemas.Sandbox{}, Errors: []schemas.Error{}}
	for i, err := range errs {
		if err != nil {
			r.Errors = append(r.Errors, Public(err))
			continue
		}
		r.Sandboxes = append(r.Sandboxes, made[i])
	}
	if count == 1 {
		return r, errs[0]
	}
	return r, nil
}
