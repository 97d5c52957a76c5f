package manager

import "fmt"

// admit registers a new sandbox and takes one of the MaxSandboxes slots for it,
// before any work is begun: a count that is looked at first and taken later
// lets parallel calls pass. The slot goes back by freeSlot.
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
	if n := m.condemnedLocked(); n >= m.maxCondemned() {
		return &Error{
			Kind: KindLimit, Retryable: true,
			Message: fmt.Sprintf("%d sandboxes that were destroyed or have expired are still being removed", n),
			Hint:    "Try again in some seconds.",
		}
	}
	s.slot = true
	m.slots++
	m.sandboxes[s.id] = s
	return nil
}

// freeSlot gives back the slot of a sandbox that ends. It may come twice.
func (m *Manager) freeSlot(s *sandbox) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.slot {
		s.slot = false
		m.slots--
	}
}

// maxCondemned is how many sandboxes may be on their way out when another one is
// made. They take no slot, since their owners have done what was asked of them;
// but a backend that removes too slowly must not fill up.
func (m *Manager) maxCondemned() int { return max(m.cfg.MaxSandboxes, 2*maxRemovals) }

func (m *Manager) condemnedLocked() int { return len(m.sandboxes) - m.slots }

// crowded tells whether so many removals are due that who destroys must wait.
func (m *Manager) crowded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.condemnedLocked() > m.maxCondemned()/2
}
