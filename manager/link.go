package manager

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// link is the way to the guest of one incarnation. All calls share one guest;
// it is opened when first needed, once for all who wait, and again when it was
// lost. A retired link, of an incarnation that goes away, opens nothing more.
type link struct {
	inc  incarnation
	spec Spec

	mu      sync.Mutex
	guest   Guest
	opening *opening
	retired bool
	end     chan struct{} // closed when retired
}

// opening is one attempt that any number of callers wait for. It belongs to
// none of them: whoever goes away does not spoil it for the rest.
type opening struct {
	done   chan struct{}
	cancel context.CancelFunc
	guest  Guest
	err    error
}

// openTime bounds one attempt; a stopped container is started within it.
const openTime = time.Minute

func newLink(inc incarnation, spec Spec) *link {
	return &link{inc: inc, spec: spec, end: make(chan struct{})}
}

// connect gives the guest of a sandbox's current incarnation, starting its
// container when that is stopped.
func (m *Manager) connect(ctx context.Context, s *sandbox) (Guest, error) {
	l := s.currentLink()
	l.mu.Lock()
	if g := l.liveLocked(); g != nil {
		l.mu.Unlock()
		return g, nil
	}
	o := l.opening
	if o == nil {
		o = m.beginOpenLocked(s, l)
	}
	l.mu.Unlock()
	select {
	case <-o.done:
		return o.guest, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// liveLocked is the guest when there is one that works.
func (l *link) liveLocked() Guest {
	if l.guest == nil {
		return nil
	}
	select {
	case <-l.guest.Done():
		return nil
	default:
		return l.guest
	}
}

func (l *link) live() Guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.liveLocked()
}

func (m *Manager) beginOpenLocked(s *sandbox, l *link) *opening {
	ctx, cancel := context.WithTimeout(m.ctx, openTime)
	o := &opening{done: make(chan struct{}), cancel: cancel}
	if l.retired || !m.spawn(func() { m.open(ctx, s, l, o) }) {
		cancel()
		o.err = lost(nil)
		close(o.done)
		return o
	}
	l.opening = o
	return o
}

// open makes one attempt and publishes its outcome.
func (m *Manager) open(ctx context.Context, s *sandbox, l *link, o *opening) {
	defer o.cancel()
	guest, err := m.backend.Open(ctx, l.inc.Ref, l.spec, l.inc.Image)
	if err == nil {
		if err = m.tellDeadline(ctx, s, guest); err != nil {
			guest.Close()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(o.done)
	l.opening = nil
	if err == nil && l.retired {
		guest.Close()
		err = lost(nil)
	}
	if err != nil {
		o.err = err
		m.noteOpenFailed(s, l, err)
		return
	}
	o.guest, l.guest = guest, guest
	m.event(EventReconnected)
	m.setStatus(s, l, schemas.StatusRunning)
	m.watch(s, l, guest)
}

// retire ends the link: its guest is closed, an attempt to open one is stopped
// and waited for, so that it does not meet the removal of what it opens.
func (l *link) retire(ctx context.Context) {
	l.mu.Lock()
	if !l.retired {
		l.retired = true
		close(l.end)
	}
	guest, o := l.guest, l.opening
	l.mu.Unlock()
	if guest != nil {
		guest.Close()
	}
	if o != nil {
		o.cancel()
		select {
		case <-o.done:
		case <-ctx.Done():
		}
	}
}

// drop closes a guest that does not behave; the next call opens another.
func (l *link) drop(guest Guest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.guest == guest {
		l.guest = nil
	}
	guest.Close()
}
