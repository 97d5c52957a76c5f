package manager

import (
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// find is the only way from a caller's ID to a sandbox: it keeps owners apart,
// and hides what is being made or has come to its end.
func (m *Manager) find(o Owner, id schemas.SandboxID) (*sandbox, error) {
	if _, err := schemas.ParseSandboxID(string(id)); err != nil {
		return nil, invalid("sandbox_id is %.64q: %v", string(id), err)
	}
	if m.ctx.Err() != nil {
		return nil, closing()
	}
	m.mu.Lock()
	s := m.sandboxes[id]
	m.mu.Unlock()
	if s == nil {
		return nil, notFound(id)
	}
	if r := s.record(); r.Owner != o || !r.live(m.now()) {
		return nil, notFound(id)
	}
	return s, nil
}

// all is every sandbox there is, whatever its state.
func (m *Manager) all() []*sandbox {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*sandbox, 0, len(m.sandboxes))
	for _, s := range m.sandboxes {
		all = append(all, s)
	}
	return all
}

// adopt takes in a sandbox that an earlier server made, with its slot, also
// when there are more than MaxSandboxes by now. Its timer starts with Start. A
// sandbox is thought to run, as it most likely does, until the backend says
// otherwise.
func (m *Manager) adopt(r record) {
	s := newSandbox(r)
	s.status = schemas.StatusRunning
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sandboxes[r.ID] = s
	if s.slot = r.State != stateDestroying; s.slot {
		m.slots++
	}
}

// forget drops a sandbox of which nothing is left.
func (m *Manager) forget(s *sandbox) {
	s.stopTimer()
	m.freeSlot(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sandboxes[s.id] == s {
		delete(m.sandboxes, s.id)
	}
}

func (m *Manager) knows(s *sandbox) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sandboxes[s.id] == s
}
