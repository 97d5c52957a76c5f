package tools

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	progressEvery = 250 * time.Millisecond // at most; clients ask for a limit of some kind
	silentEvery   = 5 * time.Second        // at least, so that a client sees the call alive
)

// progress sends a command's output to the caller while it runs. The value is the
// elapsed time in seconds, which only grows; what comes too soon after the last
// notification is joined to the next one. Without a token it does nothing.
type progress struct {
	ctx   context.Context
	token mcp.ProgressToken
	start time.Time

	mu      sync.Mutex
	pending *headTail
	split   map[schemas.Stream][]byte // a character whose rest has not come yet

	news, stop chan struct{}
	done       chan struct{}
	last       float64
}

func (c *call) startProgress(ctx context.Context) *progress {
	p := &progress{ctx: ctx, token: c.token, start: time.Now()}
	if p.token == nil {
		return p
	}
	p.pending = newHeadTail(progressTextBytes)
	p.split = map[schemas.Stream][]byte{}
	p.news, p.stop, p.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go p.loop()
	return p
}

// output takes a chunk of output. It never waits for the caller to read.
func (p *progress) output(s schemas.Stream, chunk []byte) {
	if p.token == nil {
		return
	}
	p.mu.Lock()
	whole := append(p.split[s], chunk...)
	rest := partial(whole)
	p.pending.add(whole[:len(whole)-len(rest)])
	p.split[s] = append([]byte(nil), rest...)
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// close sends what is left. The response may then follow.
func (p *progress) close() {
	if p.token == nil {
		return
	}
	close(p.stop)
	<-p.done
}

func (p *progress) loop() {
	defer close(p.done)
	silence := time.NewTimer(silentEvery)
	defer silence.Stop()
	for {
		select {
		case <-p.news:
			p.send(p.take(false))
		case <-silence.C:
			p.send(fmt.Sprintf("still running after %.0f s", time.Since(p.start).Seconds()))
		case <-p.stop:
			p.send(p.take(true))
			return
		}
		silence.Reset(silentEvery)
		select {
		case <-time.After(progressEvery):
		case <-p.stop:
		}
	}
}

// take is the output not sent yet; at the end, with half characters.
func (p *progress) take(end bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if end {
		p.pending.add(p.split[schemas.Stdout])
		p.pending.add(p.split[schemas.Stderr])
	}
	text, _ := p.pending.text(budget{progressTextBytes, 2 * progressTextBytes})
	p.pending = newHeadTail(progressTextBytes)
	return text
}

// send does nothing once the call is cancelled: its token is no longer valid.
func (p *progress) send(message string) {
	if message == "" || p.ctx.Err() != nil {
		return
	}
	p.last = max(p.last+0.001, time.Since(p.start).Seconds())
	// An error means that the caller is gone, which ends the call by itself.
	_ = Notify(p.ctx, string(mcp.MethodNotificationProgress), map[string]any{
		"progressToken": p.token, "progress": p.last, "message": message,
	})
}
