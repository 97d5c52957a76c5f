package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Rollback puts a sandbox back to a snapshot, of this sandbox or of another one
// of the owner: a new incarnation is made and filled beside the old one, which
// goes on working; then the record switches, and only then do calls inside the
// old one end and is it removed. Until the switch any failure leaves the
// sandbox, and what runs in it, as it was. Its expiry does not change.
func (m *Manager) Rollback(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.RollbackRequest) (_ schemas.Sandbox, err error) {
	defer m.observe("rollback", time.Now(), &err)
	v, err := m.claim(ctx, o, id, "rollback")
	if err != nil {
		return schemas.Sandbox{}, err
	}
	defer v.leave()
	snap, err := m.snaps.usable(o, req.SnapshotID)
	if err == nil {
		err = m.rollBack(v, snap)
	}
	if err != nil {
		return schemas.Sandbox{}, v.explain(err)
	}
	m.log.Info("rolled back", "sandbox", id, "snapshot", snap.ID)
	return v.s.view(), nil
}

func (m *Manager) rollBack(v *visit, snap snapRecord) error {
	next, err := m.beginRollback(v)
	if err != nil {
		return err
	}
	faults.Point("rollback.announced")
	next, guest, err := m.remake(v, next, snap)
	if err == nil {
		if err = m.recordSwitch(v, next, snap.ID); err != nil {
			guest.Close()
		}
	}
	if err != nil {
		m.undoRollback(v.ctx, v.s, err)
		return err
	}
	faults.Point("rollback.switched")
	return m.moveIn(v, next, guest)
}

// beginRollback records what is about to be made.
func (m *Manager) beginRollback(v *visit) (next incarnation, err error) {
	err = m.change(v.s, func(r *record) error {
		if err := stillWanted(v, *r); err != nil {
			return err
		}
		r.giveUpNext() // of one that could not be undone
		next = r.begin()
		next.Image = r.Current.Image
		r.State, r.Next = stateRollingBack, &next
		return nil
	})
	return next, err
}

// stillWanted refuses what a destroy or an expiry, or the caller's leaving, has
// overtaken.
func stillWanted(v *visit, r record) error {
	if err := context.Cause(v.ctx); err != nil {
		return err
	}
	if r.State == stateDestroying {
		return gone(r.Reason)
	}
	if !r.live(v.m.now()) {
		return gone(ReasonExpired)
	}
	return nil
}

// remake makes the new incarnation from the very image of the old one. When
// somebody has removed that, its reference is resolved anew.
func (m *Manager) remake(v *visit, next incarnation, snap snapRecord) (incarnation, Guest, error) {
	spec := v.s.record().Spec
	made, guest, err := m.incarnate(v.ctx, v.s, next, spec, m.unpacked(snap))
	if isKind(err, KindInvalid) {
		next.Image = Image{}
		return m.incarnate(v.ctx, v.s, next, spec, m.unpacked(snap))
	}
	return made, guest, err
}

// recordSwitch is the moment of the rollback: before it the sandbox is what it
// was, after it the snapshot, also when the server dies right then.
func (m *Manager) recordSwitch(v *visit, next incarnation, snap schemas.SnapshotID) error {
	return m.change(v.s, func(r *record) error {
		if err := stillWanted(v, *r); err != nil {
			return err
		}
		r.Stale = append(append([]Ref(nil), r.Stale...), r.Current.Ref)
		r.State, r.Current, r.Next, r.Parent = stateRunning, next, nil, &snap
		return nil
	})
}

// moveIn turns out who is in the old incarnation and opens the new one. New
// calls wait outside only for that moment.
func (m *Manager) moveIn(v *visit, next incarnation, guest Guest) error {
	inside, ok := v.s.gate.shutFor(v.pass, gone(ReasonRolledBack))
	if !ok { // a destroy came first, and removes both incarnations
		guest.Close()
		return gone(v.s.record().Reason)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), turnOutTime)
	defer cancel()
	m.attach(v.s, next, guest).retire(ctx)
	v.s.gate.reopen()
	if err := awaitLeft(ctx, inside); err != nil {
		m.log.Warn("calls do not leave a sandbox that was rolled back", "sandbox", v.s.id)
	}
	m.tellNewDeadline(context.WithoutCancel(v.ctx), v.s) // a renewal meanwhile told the old guest only
	faults.Point("rollback.moved")
	m.spawn(func() { m.tendStale(v.s) })
	return context.Cause(v.ctx)
}

// undoRollback gives up the new incarnation. When that cannot be written down
// nothing is removed, for then the disk may hold the switch; the sweep tries
// again.
func (m *Manager) undoRollback(ctx context.Context, s *sandbox, why error) {
	m.log.Warn("roll back", "sandbox", s.id, "error", why)
	ctx, cancel := m.outlive(ctx)
	defer cancel()
	err := m.change(s, func(r *record) error {
		if r.State != stateRollingBack {
			return fmt.Errorf("sandbox is %s by now", r.State)
		}
		if errors.Is(why, errNameTaken) {
			r.Next = nil // not ours to remove
		}
		r.State = stateRunning
		r.giveUpNext()
		return nil
	})
	if err == nil {
		faults.Point("rollback.undone")
		err = m.dropStale(ctx, s)
		m.noteFailed(why)
	}
	if err != nil {
		m.log.Warn("undo rollback; trying again later", "sandbox", s.id, "error", err)
	}
}

// tendRollback undoes a rollback that ended without being able to.
func (m *Manager) tendRollback(s *sandbox) {
	if s.record().State != stateRollingBack {
		return
	}
	p, err := s.gate.claim(m.ctx, "rollback")
	if err != nil {
		return // it is still going on
	}
	defer p.leave()
	if s.record().State == stateRollingBack {
		m.undoRollback(m.ctx, s, errors.New("an earlier rollback was left undone"))
	}
}
