package manager

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Get describes one sandbox of an owner.
func (m *Manager) Get(ctx context.Context, o Owner, id schemas.SandboxID) (schemas.Sandbox, error) {
	s, err := m.find(o, id)
	if err != nil {
		return schemas.Sandbox{}, err
	}
	m.refresh(ctx, s)
	return s.view(), nil
}
