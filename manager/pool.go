package manager

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// pool keeps spares: incarnations of the default image that nobody has used, for
// making one takes the greater part of a second, and giving one another name a
// few milliseconds. A spare counts against no limit and has no record, so the
// next server removes it; its guest stops it when no server comes.
type pool struct {
	m       *Manager
	backend Adopter // nil: there is no pool
	size    int
	wake    chan struct{} // something has changed

	mu    sync.Mutex
	ready []*spare
	out   map[*spare]bool // being made, claimed or removed: in the backend, and in no record yet
	taken time.Time       // last
}

// spare is one incarnation in waiting.
type spare struct {
	inc   incarnation
	spec  Spec
	guest Guest

	outdated bool // under pool.mu: its image is not the default any more

	// telling orders what its guest is told; a spare that is out is told nothing
	// more by the pool.
	telling lock
	out     bool
	told    time.Time // of its deadline
}

const (
	// spareTime is how long a spare outlives a server that has died.
	spareTime = 30 * time.Minute
	// calm is how long nothing must have been taken, nor be in the making, before
	// the pool is filled: it must not compete with what its spares are for.
	calm = 250 * time.Millisecond
	// spareCheck bounds the question whether a spare answers.
	spareCheck = 2 * time.Second
)

func newPool(m *Manager, size int) *pool {
	p := &pool{m: m, size: size, wake: make(chan struct{}, 1), out: map[*spare]bool{}}
	if a, ok := m.backend.(Adopter); ok && size > 0 {
		p.backend = a
	}
	return p
}

// nudge has the pool look whether there is something to do.
func (p *pool) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// claim turns a spare into the incarnation of that name; none when there is no
// spare that fits, or it does not work any more: then one has to be made. The
// image is what PrepareImage says now, so a spare of an older one is none.
func (p *pool) claim(ctx context.Context, name string, spec Spec, image Image) (inc incarnation, guest Guest, ok bool) {
	if p.backend == nil {
		return inc, nil, false
	}
	defer p.nudge()
	s := p.take(spec, image)
	if s == nil {
		p.m.event(EventPoolMissed)
		return inc, nil, false
	}
	to := s.inc.Ref
	to.Container = name
	if err := p.adopt(ctx, s, to, spec); err != nil {
		p.m.log.Warn("spare sandbox is of no use", "container", s.inc.Ref.Container, "error", err)
		p.m.event(EventPoolMissed)
		p.discard(ctx, s, to, s.inc.Ref)
		return inc, nil, false
	}
	faults.Point("pool.claimed")
	p.m.event(EventPoolClaimed)
	return incarnation{Ref: to, Image: image}, s.guest, true
}

func (p *pool) adopt(ctx context.Context, s *spare, to Ref, spec Spec) error {
	if err := s.tell(ctx, creationTime, true); err != nil {
		return err
	}
	return p.backend.Adopt(ctx, s.guest, s.inc.Ref, to, s.spec, spec)
}

// take removes a spare that fits from the ready ones. It stays known until
// settled, so that nobody takes it for an orphan.
func (p *pool) take(spec Spec, image Image) *spare {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outdateLocked(spec.Image, image)
	for i, s := range p.ready {
		if s.inc.Image.ID == image.ID && p.backend.Fits(s.spec, spec) && s.alive() {
			p.removeLocked(i)
			p.taken = time.Now()
			return s
		}
	}
	return nil
}

// outdateLocked marks the spares of an image whose reference names another by now.
func (p *pool) outdateLocked(reference string, image Image) {
	for _, s := range p.ready {
		s.outdated = s.outdated || s.spec.Image == reference && s.inc.Image.ID != image.ID
	}
}

// removeLocked moves a spare from the ready ones to those that are out.
func (p *pool) removeLocked(i int) {
	p.out[p.ready[i]] = true
	p.ready = append(p.ready[:i:i], p.ready[i+1:]...)
}

// tell gives a spare a deadline, and finds out whether it answers.
func (s *spare) tell(ctx context.Context, remaining time.Duration, out bool) error {
	ctx, cancel := context.WithTimeout(ctx, spareCheck)
	defer cancel()
	if err := s.telling.lock(ctx); err != nil {
		return err
	}
	defer s.telling.unlock()
	if s.out {
		return nil
	}
	s.out, s.told = out, time.Now()
	return s.guest.SetDeadline(ctx, remaining)
}

func (s *spare) alive() bool {
	select {
	case <-s.guest.Done():
		return false
	default:
		return true
	}
}

// settle forgets the spare that has become inc: a record knows it, or it is gone.
func (p *pool) settle(volume string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.out {
		if s.inc.Ref.Volume == volume {
			delete(p.out, s)
		}
	}
}

// discard removes a spare under every name that it may have. What cannot be
// removed now is an orphan.
func (p *pool) discard(ctx context.Context, s *spare, refs ...Ref) {
	if s.guest != nil {
		s.guest.Close()
	}
	ctx, cancel := p.m.outlive(ctx)
	defer cancel()
	for _, ref := range refs {
		if err := p.backend.Remove(ctx, ref); err != nil {
			p.m.log.Warn("remove spare sandbox", "container", ref.Container, "error", err)
			p.m.noteFailed(err)
		}
	}
	p.settle(s.inc.Ref.Volume)
}

// names adds what no record knows and is no orphan all the same.
func (p *pool) names(known map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	add := func(s *spare) { known[s.inc.Ref.Container], known[s.inc.Ref.Volume] = true, true }
	for _, s := range p.ready {
		add(s)
	}
	for s := range p.out {
		add(s)
	}
}

func (p *pool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ready)
}

func spareName() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails: crypto/rand
	return "agent-sandbox-spare-" + hex.EncodeToString(b)
}
