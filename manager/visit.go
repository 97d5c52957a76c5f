package manager

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// visit is one call inside a sandbox: it has passed the gate and has a guest.
// Its ctx ends with the caller's, and when the sandbox goes away.
type visit struct {
	*pass
	m     *Manager
	s     *sandbox
	guest Guest
	calm  func() bool // stops looking after it; nil without a guest
}

// leave ends the visit. It is idempotent.
func (v *visit) leave() {
	if v.calm != nil {
		v.calm()
	}
	v.pass.leave()
}

// enter lets a call into a sandbox of its owner, and connects to the guest. Who
// gets a visit must leave it.
func (m *Manager) enter(ctx context.Context, o Owner, id schemas.SandboxID) (*visit, error) {
	s, err := m.find(o, id)
	if err != nil {
		return nil, err
	}
	p, err := s.gate.enter(ctx)
	if err != nil {
		return nil, err
	}
	v := &visit{pass: p, m: m, s: s}
	if err := v.connect(); err != nil {
		err = v.explain(err)
		v.leave()
		return nil, err
	}
	return v, nil
}

// claim lets an operation in that excludes others of its kind; see [gate]. It
// has no guest until it connects, as a rollback need not.
func (m *Manager) claim(ctx context.Context, o Owner, id schemas.SandboxID, op string) (*visit, error) {
	s, err := m.find(o, id)
	if err != nil {
		return nil, err
	}
	p, err := s.gate.claim(ctx, op)
	if err != nil {
		return nil, err
	}
	return &visit{pass: p, m: m, s: s}, nil
}

// connect gives the visit a guest, or another one after that was lost.
func (v *visit) connect() (err error) {
	v.guest, err = v.m.connect(v.ctx, v.s)
	if err == nil && v.calm == nil {
		v.calm = v.m.suspectLater(v.s)
	}
	return err
}

// do makes one call that must not be made twice.
func (m *Manager) do(ctx context.Context, o Owner, id schemas.SandboxID, call func(context.Context, Guest) error) error {
	v, err := m.enter(ctx, o, id)
	if err != nil {
		return err
	}
	defer v.leave()
	return v.explain(call(v.ctx, v.guest))
}

// ask makes a call that changes nothing: when the guest is lost under it, it is
// made once more.
func (m *Manager) ask(ctx context.Context, o Owner, id schemas.SandboxID, call func(context.Context, Guest) error) error {
	v, err := m.enter(ctx, o, id)
	if err != nil {
		return err
	}
	defer v.leave()
	return v.explain(v.twice(call))
}

func (v *visit) twice(call func(context.Context, Guest) error) error {
	err := call(v.ctx, v.guest)
	if !isKind(err, KindLost) || v.ctx.Err() != nil {
		return err
	}
	if err := v.connect(); err != nil {
		return err
	}
	return call(v.ctx, v.guest)
}
