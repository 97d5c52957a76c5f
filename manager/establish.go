package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// plan is all that is needed to make a sandbox; everything in it is checked.
type plan struct {
	Owner  Owner
	Name   string
	Spec   Spec
	TTL    time.Duration // counted from when the sandbox is complete
	Parent *schemas.SnapshotID
	// Fill puts content into the empty workspace; nil leaves it so.
	Fill func(context.Context, Guest) error
}

// establish makes a sandbox, for Create and Fork. It counts against the limit
// from the first moment and is seen by clients from the last; whatever goes
// wrong between, or when the caller goes away, nothing is left behind.
func (m *Manager) establish(ctx context.Context, p plan) (schemas.Sandbox, error) {
	// Close waits for the clean-up, too, which comes after the sandbox is left.
	if err := m.enlist(); err != nil {
		return schemas.Sandbox{}, err
	}
	defer m.tasks.Done()
	v, image, err := m.announce(ctx, p)
	if err != nil {
		return schemas.Sandbox{}, err
	}
	if err := m.complete(v, p, image); err != nil {
		why := v.explain(err)
		v.leave()
		m.abandon(ctx, v.s, err)
		return schemas.Sandbox{}, why
	}
	v.leave()
	m.log.Info("created sandbox", "sandbox", v.s.id, "image", p.Spec.Image)
	return v.s.view(), nil
}

// announce takes a slot and records what is about to be made. Its image, which no
// record knows of, is prepared meanwhile; image waits for it.
func (m *Manager) announce(ctx context.Context, p plan) (v *visit, image func() (Image, error), err error) {
	now := m.now()
	r := record{
		ID: schemas.NewSandboxID(), Owner: p.Owner, Name: p.Name, State: stateCreating,
		Spec: p.Spec, Parent: p.Parent, CreatedAt: now.Wall, lifetime: grant(p.TTL, now),
	}
	r.Current = r.begin()
	s := newSandbox(r)
	claim, err := s.gate.claim(ctx, "creation")
	if err != nil {
		return nil, nil, err
	}
	v = &visit{pass: claim, m: m, s: s}
	if err := m.admit(s); err != nil {
		v.leave()
		return nil, nil, err
	}
	faults.Point("create.admitted")
	image = m.prepareBeside(v.ctx, p.Spec.Image)
	if err := m.store.save(r); err != nil {
		v.leave()
		image() // ends with the visit
		m.forget(s)
		return nil, nil, err
	}
	faults.Point("create.announced")
	return v, image, nil
}

// prepareBeside prepares an image beside its caller, who gets a function that waits
// for it.
func (m *Manager) prepareBeside(ctx context.Context, reference string) (wait func() (Image, error)) {
	var image Image
	var preparing errgroup.Group
	preparing.Go(func() (err error) {
		image, err = m.backend.PrepareImage(ctx, reference)
		return err
	})
	return func() (Image, error) {
		err := preparing.Wait()
		return image, err
	}
}

func (m *Manager) complete(v *visit, p plan, image func() (Image, error)) (err error) {
	inc := v.s.record().Current
	if inc.Image, err = image(); err != nil {
		return fmt.Errorf("prepare image: %w", err)
	}
	inc, guest, err := m.incarnate(v.ctx, v.s, inc, p.Spec, p.Fill)
	if err != nil {
		return err
	}
	m.attach(v.s, inc, guest)
	err = m.change(v.s, func(r *record) error {
		if err := context.Cause(v.ctx); err != nil {
			return err
		}
		r.State, r.Current = stateRunning, inc
		now := m.now()
		r.CreatedAt, r.lifetime = now.Wall, grant(p.TTL, now)
		return nil
	})
	if err != nil {
		return err
	}
	faults.Point("create.recorded")
	if err := m.tellDeadline(v.ctx, v.s, guest); err != nil {
		return err
	}
	faults.Point("create.told")
	return context.Cause(v.ctx)
}

// abandon removes what a failed creation has made, whether or not its caller is
// still there.
func (m *Manager) abandon(ctx context.Context, s *sandbox, why error) {
	m.log.Warn("create sandbox", "sandbox", s.id, "error", why)
	m.condemn(s, ReasonDestroyed, func(record) bool { return true })
	if errors.Is(why, errNameTaken) {
		_ = m.erase(s) // logs by itself; what has the name is not ours to remove
		return
	}
	_ = m.finish(ctx, s) // logs by itself, and the reaper tries again
	m.noteFailed(why)
}
