package manager

import "time"

// lifetime says until when a sandbox lives, by one rule: while the machine stays
// up, the time since its start decides, which nobody sets and which goes on
// during sleep; across a start of the machine the wall clock does, which is all
// there is then. Either way nothing lives longer than its whole time to live
// from now.
//
// A clock that is set therefore ends no sandbox early and keeps none for ever.
type lifetime struct {
	// ExpiresAt is the end by the wall clock, as it went when this was written.
	ExpiresAt time.Time     `json:"expires_at"`
	TTL       time.Duration `json:"ttl_ns,omitempty"` // as it was granted last
	// End is the end by the time since Boot, the start of the machine of that name.
	End  time.Duration `json:"end_ns,omitempty"`
	Boot string        `json:"boot,omitempty"`
}

const (
	// maxTTL is what no setting allows to exceed.
	maxTTL = 365 * 24 * time.Hour
	// wallSlack is how far the wall clock may go astray before it counts as set:
	// it may skip a second, and two clocks are not read at one moment.
	wallSlack = 2 * time.Second
)

func grant(ttl time.Duration, now Instant) lifetime {
	return lifetime{ExpiresAt: now.Wall.Add(ttl), TTL: ttl, End: now.Up + ttl, Boot: now.Boot}
}

// left is how long it still lives; nothing, or less, when its time has come.
func (l lifetime) left(now Instant) time.Duration {
	left := l.ExpiresAt.Sub(now.Wall)
	if l.Boot != "" && l.Boot == now.Boot {
		left = l.End - now.Up
	}
	return min(left, l.ttl())
}

// ttl is also right for a record that has none, or a damaged one.
func (l lifetime) ttl() time.Duration {
	if l.TTL <= 0 || l.TTL > maxTTL {
		return maxTTL
	}
	return l.TTL
}

// expired: clients do not find it any more, and it is to be removed.
func (l lifetime) expired(now Instant) bool { return l.left(now) <= 0 }

// astray tells that l is written in terms of a wall clock that was set since, or
// of an earlier start of the machine.
func (l lifetime) astray(now Instant) bool {
	off := l.ExpiresAt.Sub(now.Wall) - l.left(now)
	return l.Boot != now.Boot || off.Abs() > wallSlack
}

// rebased is l in terms of now; it ends at the same moment.
func (l lifetime) rebased(now Instant) lifetime {
	ttl, left := l.ttl(), l.left(now)
	return lifetime{ExpiresAt: now.Wall.Add(left), TTL: ttl, End: now.Up + left, Boot: now.Boot}
}

// keepTime follows a wall clock that was set, or a start of the machine, in the
// record of a sandbox. When that cannot be written, this server knows all the
// same, and the next one tries again.
func (m *Manager) keepTime(s *sandbox) {
	s.changing.Lock()
	defer s.changing.Unlock()
	r, now := s.record(), m.now()
	if !r.astray(now) {
		return
	}
	was := r.ExpiresAt
	r.lifetime = r.rebased(now)
	m.log.Info("the clock was set, or the machine started anew; the sandbox lives on by the time since boot",
		"sandbox", s.id, "expiry_was", was, "expiry", r.ExpiresAt)
	if err := m.store.save(r); err != nil {
		m.log.Error("record expiry", "sandbox", s.id, "error", err)
	}
	m.install(s, r)
}
