package manager

import "fmt"

// admit registers a new sandbox and takes one of the MaxSandboxes slots for it,
// before any work is begun: a count that is looked at first and taken later
// lets parallel calls pass. The slot goes back by forget.
func (m *Manager) admit(s *sandbox) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return closing()
	}
	if m.slots >= m.cfg.MaxSandboxes {
		return &Error{
			Kind: KindLimit, Retryable: true,
			Message: fmt.Sprintf("all %d sandboxes that this server allows are in use", m.cfg.MaxSandboxes),
			Hint:    "Destroy a sandbox that is no longer needed, or try again when one has expired.",
		}
	}
	m.slots++
	m.sandboxes[s.id] = s
	return nil
}
