package guest

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pausePatience bounds the wait for processes to stop. One inside a long system
// call stops when that returns and changes no memory or file until then, so a
// snapshot need not fail because of it.
const pausePatience = 2 * time.Second

// pause stops every process of the sandbox but the guest, and those already
// stopped, and keeps new ones and file changes out until resume is called,
// which starts exactly those again.
func (g *guest) pause(ctx context.Context) (resume func(), err error) {
	if os.Getpid() != 1 {
		return nil, errors.New("pause: the guest is not alone in its process namespace")
	}
	open, err := g.gate.close(ctx)
	if err != nil {
		return nil, err
	}
	g.pausing.Lock()
	ours := map[identity]bool{}
	resume = func() {
		for s := range ours {
			s.resume()
		}
		g.pausing.Unlock()
		open()
	}
	held := false
	defer func() {
		if !held { // an error or a panic
			resume()
		}
	}()
	deadline := time.Now().Add(pausePatience)
	for !stopAll(ours) && ctx.Err() == nil && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	held = ctx.Err() == nil
	return resume, ctx.Err()
}

// stopAll stops what runs, notes it in ours, and reports whether all were found
// standing still. It takes several looks: a stop takes effect only when its
// process is next scheduled, and until then the process may fork.
func stopAll(ours map[identity]bool) (still bool) {
	still = true
	for _, s := range stats() {
		if !s.alive() || s.state == 'T' || s.state == 't' {
			continue
		}
		still = false
		id := identity{s.pid, s.start}
		if rawKill(s.pid, unix.SIGSTOP) == 0 {
			ours[id] = true
		}
	}
	return still
}

func (s identity) resume() {
	if statOf(s.pid).start == s.start {
		rawKill(s.pid, unix.SIGCONT)
	}
}
