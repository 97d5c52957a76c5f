package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A client that gets a notification and the response in one read may handle the
// response first, and then takes the notification for one too many: the TypeScript
// SDK, version 1, does, and Cursor drops a server after enough of those. So before
// a response that follows a notification closely, the server makes sure that the
// client has taken in the notification: it sends a ping behind it, and waits for the
// answer. Who does not answer pings, and who has none (since 2026-07-28), gets the
// response a little later: when it has read what was sent, where the kernel tells
// that, and else the later, the busier it seems.

const (
	settled  = time.Second            // after a notification, nothing has to be done
	closeGap = 10 * time.Millisecond  // between notification and response, without an answer
	crowdGap = 250 * time.Millisecond // at most, for a client with many requests
	firstTry = 200 * time.Millisecond // for the answer of a client that has not answered any ping
	pingTime = 2 * time.Second        // and of one that has; also for reading
)

// spoken is when the last notification of a request was sent.
type spoken struct{ at atomic.Pointer[time.Time] }

func (s *spoken) now() {
	now := time.Now() // with its monotonic part: wall clocks are set back
	s.at.Store(&now)
}

// since is long when there was none.
func (s *spoken) since() time.Duration {
	if at := s.at.Load(); at != nil {
		return time.Since(*at)
	}
	return time.Hour
}

// pings are those of one client that wait for an answer. A nil one has no pings.
type pings struct {
	mu      sync.Mutex
	last    int
	open    map[string]chan struct{} // by ID, as it is written
	answers bool                     // the client has answered one
	mute    bool                     // or had the time to
}

const pingID = `"mcp-sandbox-ping-`

// settle returns when the response to a request may follow its notifications. send
// sends the ping where they went.
func (p *pings) settle(ctx context.Context, s *spoken, l listener, send func(message any) error) {
	if s.since() > settled || p.ask(ctx, send) {
		return
	}
	l.wait(ctx, s)
}

// listener is what is known of a client beside its pings.
type listener struct {
	calls  int        // its requests under way
	unread func() int // how much it was sent and has not read; nil: not known
}

// wait lasts until the client seems to have taken in the notification.
func (l listener) wait(ctx context.Context, s *spoken) {
	if l.unread == nil {
		sleep(ctx, min(closeGap*time.Duration(max(1, l.calls)), crowdGap)-s.since())
		return
	}
	sleep(ctx, closeGap-s.since())
	for deadline := time.Now().Add(pingTime); l.unread() > 0 && time.Now().Before(deadline) && ctx.Err() == nil; {
		sleep(ctx, time.Millisecond)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// ask tells whether the client has answered.
func (p *pings) ask(ctx context.Context, send func(message any) error) bool {
	id, answered, most := p.begin()
	if answered == nil {
		return false
	}
	defer p.end(id)
	if send(map[string]any{"jsonrpc": "2.0", "id": strings.Trim(id, `"`), "method": "ping"}) != nil {
		return false // which ends the request by itself
	}
	select {
	case <-answered:
		return true
	case <-ctx.Done():
	case <-time.After(most):
		p.silent()
	}
	return false
}

func (p *pings) begin() (id string, answered chan struct{}, most time.Duration) {
	if p == nil {
		return "", nil, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute && !p.answers {
		return "", nil, 0
	}
	if p.open == nil {
		p.open = map[string]chan struct{}{}
	}
	p.last++
	id = fmt.Sprintf(`%s%d"`, pingID, p.last)
	answered, most = make(chan struct{}), firstTry
	if p.answers {
		most = pingTime
	}
	p.open[id] = answered
	return id, answered, most
}

func (p *pings) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, id)
}

func (p *pings) silent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = true
}

// answered takes a response, which may come late, or be to something else.
func (p *pings) answered(id string) {
	if !strings.HasPrefix(id, pingID) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = true
	if c := p.open[id]; c != nil {
		delete(p.open, id)
		close(c)
	}
}
