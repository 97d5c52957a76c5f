package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// SetTimeout gives a sandbox a new time to live, counted from now. Against an
// expiry at the same moment exactly one wins: the sandbox is renewed, or it is
// not found.
func (m *Manager) SetTimeout(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.SetTimeoutRequest) (_ schemas.Sandbox, err error) {
	defer m.observe("set_timeout", time.Now(), &err)
	ttl, err := m.checkTTL(&req.TimeoutSeconds)
	if err != nil {
		return schemas.Sandbox{}, err
	}
	s, err := m.find(o, id)
	if err != nil {
		return schemas.Sandbox{}, err
	}
	if err := m.enlist(); err != nil {
		return schemas.Sandbox{}, err
	}
	defer m.tasks.Done()
	err = m.change(s, func(r *record) error {
		now := m.now()
		if !r.live(now) {
			return notFound(id)
		}
		r.lifetime = grant(ttl, now)
		return nil
	})
	if err != nil {
		return schemas.Sandbox{}, err
	}
	faults.Point("renew.recorded")
	m.tellNewDeadline(ctx, s)
	faults.Point("renew.told")
	return s.view(), nil
}

// tellNewDeadline lets the guest of a running container know. Failing is no
// harm to the caller: the sweep tries again, and whoever opens the guest next
// tells it, too.
func (m *Manager) tellNewDeadline(ctx context.Context, s *sandbox) {
	m.refresh(ctx, s)
	if s.view().Status != schemas.StatusRunning {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadlineTime)
	defer cancel()
	guest, err := m.connect(ctx, s)
	if err == nil {
		err = m.tellDeadline(ctx, s, guest)
	}
	if err != nil {
		m.log.Warn("tell guest its new deadline", "sandbox", s.id, "error", err)
	}
}
