package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

const (
	// resyncInterval is how often all is compared with the backend without
	// any sign that it must be.
	resyncInterval = 5 * time.Minute
	// afterTrouble is when that happens first after a start, or a round that
	// trouble led to: the backend may still be doing what nobody waits for any
	// more. Then it happens less and less often.
	afterTrouble = 10 * time.Second
	// reconcileTime bounds one round.
	reconcileTime = 2 * time.Minute

	firstBackoff = time.Second
	lastBackoff  = 15 * time.Second
)

// reconcileLoop compares records with the backend at the start, when the
// backend turned out to be away and answers again, and now and then.
func (m *Manager) reconcileLoop() {
	pause := afterTrouble // a server may have died, and the backend still be at what it asked for
	for {
		troubled, ok := m.reconcileUntilDone()
		if !ok {
			return
		}
		if troubled {
			pause = afterTrouble
		}
		select {
		case <-m.wake:
			pause = afterTrouble
		case <-time.After(pause):
			pause = min(4*pause, resyncInterval)
			m.pool.nudge() // it may be empty since the trouble
		case <-m.ctx.Done():
			return
		}
	}
}

// reconcileUntilDone tries until a round succeeds, and tells whether one has
// failed; not ok means that Close came first. Nothing is forgotten meanwhile:
// what is to be done is in the records.
func (m *Manager) reconcileUntilDone() (troubled, ok bool) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		err := m.reconcile()
		m.noteAway(err)
		if err == nil {
			faults.Point("reconcile.done")
			m.event(EventReconciled)
			return troubled, true
		}
		troubled = true
		select {
		case <-time.After(backoff):
		case <-m.ctx.Done():
			return troubled, false
		}
	}
}

// reconcile is one round.
func (m *Manager) reconcile() error {
	ctx, cancel := context.WithTimeout(m.ctx, reconcileTime)
	defer cancel()
	if _, err := m.backend.Probe(ctx); err != nil {
		return err
	}
	faults.Point("reconcile.probed")
	m.sweep()
	return m.RemoveOrphans(ctx)
}

// noteAway logs when the backend goes away and when it comes back, once each.
func (m *Manager) noteAway(err error) {
	away := isKind(err, KindUnavailable)
	switch was := m.away.Swap(away); {
	case away && !was && m.ctx.Err() == nil:
		m.log.Warn("backend does not answer; going on without it and trying again", "error", err)
	case !away && was:
		m.log.Info("backend answers again")
	}
	if err != nil && !away {
		m.log.Warn("reconcile; trying again", "error", err)
	}
}
