package manager

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// errNameTaken means that what has an incarnation's name in the backend is not
// ours, and must not be removed.
var errNameTaken = errors.New("name is taken in the backend")

func nameTaken(cause error) *Error {
	return &Error{
		Kind: KindBackend, Message: "something else in the backend has the name of the sandbox's container or volume",
		Hint: "The server's log names it. Remove it, unless somebody needs it, and try again.", Cause: fmt.Errorf("%w: %w", errNameTaken, cause),
	}
}

// incarnate makes one incarnation of a sandbox: image, container and volume, and
// then fills its workspace. Create, fork and rollback share it. The names must
// be in the sandbox's record before, since after an error part of it may exist:
// the caller then has the record say so, and has it removed.
//
// It returns inc completed by its image, and a guest that is the caller's.
func (m *Manager) incarnate(ctx context.Context, s *sandbox, inc incarnation, spec Spec, fill func(context.Context, Guest) error) (incarnation, Guest, error) {
	if inc.Image.ID == "" {
		image, err := m.backend.PrepareImage(ctx, spec.Image)
		if err != nil {
			return inc, nil, fmt.Errorf("prepare image: %w", err)
		}
		inc.Image = image
	}
	faults.Point("incarnate.image")
	inc, guest, err := m.create(ctx, s, inc, spec)
	if err != nil {
		return inc, nil, err
	}
	faults.Point("incarnate.made")
	if fill != nil {
		if err := fill(ctx, guest); err != nil {
			guest.Close()
			return inc, nil, fmt.Errorf("fill workspace: %w", err)
		}
		faults.Point("incarnate.filled")
	}
	return inc, guest, nil
}

// create takes a spare from the pool or, when there is none that fits, calls the
// backend's Create in turn with others.
func (m *Manager) create(ctx context.Context, s *sandbox, inc incarnation, spec Spec) (incarnation, Guest, error) {
	if err := s.forge.lock(ctx); err != nil {
		return inc, nil, err
	}
	defer s.forge.unlock()
	if spare, guest, ok := m.pool.claim(ctx, inc.Ref.Container, spec, inc.Image); ok {
		m.rename(s, inc.Ref, spare.Ref)
		m.pool.settle(spare.Ref.Volume)
		return spare, guest, nil
	}
	m.creating.Add(1)
	defer m.creating.Add(-1)
	if err := m.making.Acquire(ctx, 1); err != nil {
		return inc, nil, context.Cause(ctx)
	}
	defer m.making.Release(1)
	guest, err := m.backend.Create(ctx, inc.Ref, spec, inc.Image)
	if isKind(err, KindConflict) {
		return inc, nil, nameTaken(err)
	}
	if err != nil {
		return inc, nil, fmt.Errorf("create container: %w", err)
	}
	if err := m.tellDeadline(ctx, s, guest); err != nil {
		guest.Close()
		return inc, nil, err
	}
	return inc, guest, nil
}

// attach gives a sandbox a new current incarnation to connect to, with the
// guest that is connected already, and returns the link before it.
func (m *Manager) attach(s *sandbox, inc incarnation, guest Guest) *link {
	s.mu.Lock()
	before := s.link
	l := newLink(inc, s.rec.Spec)
	s.link = l
	s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guest = guest
	m.setStatus(s, l, schemas.StatusRunning)
	m.watch(s, l, guest)
	return before
}

// dropStale removes incarnations that were replaced or given up. What fails
// stays in the record, and the reaper tries again.
func (m *Manager) dropStale(ctx context.Context, s *sandbox) error {
	if err := s.forge.lock(ctx); err != nil {
		return err
	}
	defer s.forge.unlock()
	r := s.record()
	if r.State == stateDestroying {
		return nil // finish removes all there is
	}
	for _, ref := range r.Stale {
		if err := m.backend.Remove(ctx, ref); err != nil {
			m.noteBackend(err)
			return fmt.Errorf("remove old incarnation: %w", err)
		}
		faults.Point("stale.removed")
		if err := m.change(s, func(r *record) error { r.forgetStale(ref); return nil }); err != nil {
			return err
		}
	}
	return nil
}

func (r *record) forgetStale(gone Ref) {
	var rest []Ref
	for _, ref := range r.Stale {
		if ref != gone {
			rest = append(rest, ref)
		}
	}
	r.Stale = rest
}
