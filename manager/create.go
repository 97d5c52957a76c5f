package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Create makes a sandbox with an empty workspace, or with what its image ships
// in /workspace. Everything is checked before anything is made.
func (m *Manager) Create(ctx context.Context, o Owner, req schemas.CreateSandboxRequest) (_ schemas.Sandbox, err error) {
	defer m.observe("create", time.Now(), &err)
	p, err := m.planCreate(ctx, o, req)
	if err != nil {
		return schemas.Sandbox{}, m.explain(err)
	}
	return m.establish(ctx, p)
}

func (m *Manager) planCreate(ctx context.Context, o Owner, req schemas.CreateSandboxRequest) (p plan, err error) {
	p = plan{Owner: o, Name: req.Name}
	if err := checkName(req.Name); err != nil {
		return p, err
	}
	if p.TTL, err = m.checkTTL(req.TimeoutSeconds); err != nil {
		return p, err
	}
	p.Spec, err = m.shape(m.defaultSpec(req.Image), overrides{
		CPUs: req.CPUs, MemoryMB: req.MemoryMB, PidsLimit: req.PidsLimit,
		Network: req.Network, ReadOnlyRootfs: req.ReadOnlyRootfs, Env: req.Env,
	})
	if err != nil {
		return p, err
	}
	p.Spec.Image, err = m.chooseImage(ctx, req.Image)
	return p, err
}
