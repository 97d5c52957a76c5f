package manager

import (
	"errors"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

const (
	poolTick  = time.Minute     // how often spares are looked after without any sign that they must be
	poolRetry = 2 * time.Second // how soon after one could not be made; longer each time
)

// poolLoop keeps the pool full. What goes wrong is tried again a little later,
// or when a sandbox has been made, which shows that it may go well.
func (m *Manager) poolLoop() {
	p := m.pool
	if p.backend == nil {
		return
	}
	defer p.empty()
	retry := poolRetry
	for {
		p.tend()
		next := poolTick
		if p.fill() {
			retry = poolRetry
		} else {
			next, retry = retry, min(2*retry, poolTick)
		}
		select {
		case <-time.After(next):
		case <-p.wake:
		case <-m.ctx.Done():
			return
		}
	}
}

// tend drops spares that have died or are outdated, and renews the deadline of
// the others.
func (p *pool) tend() {
	for _, s := range p.all() {
		if p.isOutdated(s) {
			p.drop(s, errOutdated)
			continue
		}
		if s.alive() && time.Since(s.told) < spareTime/2 {
			continue
		}
		if err := s.tell(p.m.ctx, spareTime, false); err != nil && p.m.ctx.Err() == nil {
			p.drop(s, err)
		}
	}
}

func (p *pool) isOutdated(s *spare) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.outdated
}

func (p *pool) all() []*spare {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*spare(nil), p.ready...)
}

// drop removes a spare, unless somebody has claimed it.
func (p *pool) drop(s *spare, why error) {
	if p.withdraw(s) {
		p.m.log.Info("drop spare sandbox", "container", s.inc.Ref.Container, "reason", why)
		p.discard(p.m.ctx, s, s.inc.Ref)
	}
}

func (p *pool) withdraw(s *spare) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.ready {
		if r == s {
			p.removeLocked(i)
			return true
		}
	}
	return false
}

var (
	errNoImage  = errors.New("default image is not there")
	errOutdated = errors.New("default image is another by now")
)

// fill makes spares until there are enough. It says whether all went well, as it
// does without the default image, which only a sandbox that needs it brings.
func (p *pool) fill() (ok bool) {
	for p.wants() && p.quiet() {
		err := p.add()
		if errors.Is(err, errNoImage) {
			return true
		}
		if err != nil {
			if p.m.ctx.Err() == nil {
				p.m.log.Warn("make spare sandbox; trying again later", "error", err)
			}
			return false
		}
	}
	return true
}

func (p *pool) wants() bool {
	return !p.m.away.Load() && p.m.ctx.Err() == nil && p.count() < p.size
}

// quiet waits until nobody makes sandboxes; false when the server ends first.
func (p *pool) quiet() bool {
	for {
		p.mu.Lock()
		rest := calm - time.Since(p.taken)
		p.mu.Unlock()
		if p.m.creating.Load() > 0 {
			rest = calm
		}
		if rest <= 0 {
			return true
		}
		select {
		case <-time.After(rest):
		case <-p.m.ctx.Done():
			return false
		}
	}
}

// add makes one spare. It pulls no image: the first sandbox that somebody asks
// for does.
func (p *pool) add() error {
	ctx := p.m.ctx
	reference, err := p.m.defaultImage(ctx)
	if err != nil {
		return err
	}
	if has, err := p.backend.HasImage(ctx, reference); err != nil {
		return err
	} else if !has {
		return errNoImage
	}
	image, err := p.backend.PrepareImage(ctx, reference)
	if err != nil {
		return err
	}
	return p.make(p.m.defaultSpec(reference), image)
}

func (p *pool) make(spec Spec, image Image) (err error) {
	ctx, name := p.m.ctx, spareName()
	s := &spare{spec: spec, telling: newLock(), inc: incarnation{Ref: Ref{Container: name, Volume: name, Key: newKey()}, Image: image}}
	p.mu.Lock()
	p.out[s] = true
	p.mu.Unlock()
	if s.guest, err = p.backend.Create(ctx, s.inc.Ref, spec, image); err != nil {
		p.discard(ctx, s, s.inc.Ref) // part of it may exist
		p.m.noteFailed(err)
		return err
	}
	if err := s.tell(ctx, spareTime, false); err != nil {
		p.discard(ctx, s, s.inc.Ref)
		return err
	}
	faults.Point("pool.made")
	p.mu.Lock()
	delete(p.out, s)
	p.ready = append(p.ready, s)
	p.mu.Unlock()
	go func() {
		<-s.guest.Done()
		p.nudge()
	}()
	return nil
}

// empty removes all spares, at the end of the server.
func (p *pool) empty() {
	var removed sync.WaitGroup
	for _, s := range p.all() {
		if p.withdraw(s) {
			removed.Go(func() { p.discard(p.m.ctx, s, s.inc.Ref) })
		}
	}
	removed.Wait()
}
