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
	release := halt(stats)
	resume = func() {
		release()
		g.pausing.Unlock()
		open()
	}
	held := false
	defer func() {
		if !held { // an error or a panic
			resume()
		}
	}()
	for deadline := time.Now().Add(pausePatience); !standing() && ctx.Err() == nil && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	held = ctx.Err() == nil
	return resume, ctx.Err()
}

// halt stops everything at one stroke, which no fork can outrun; only PID 1 may
// do that. list gives the processes to look after: release starts them again,
// but not those that stood still before. (One that stops itself just between
// the look and the stroke is started, too: a window of microseconds.)
func halt(list func() []stat) (release func()) {
	before := map[identity]bool{}
	for _, s := range list() {
		if s.stopped() {
			before[identity{s.pid, s.start}] = true
		}
	}
	rawKill(-1, unix.SIGSTOP)
	return func() {
		for _, s := range list() {
			if s.alive() && !before[identity{s.pid, s.start}] {
				rawKill(s.pid, unix.SIGCONT)
			}
		}
	}
}

// standing reports whether nothing runs. A stop takes effect only when its
// process is next scheduled.
func standing() bool {
	for _, s := range stats() {
		if s.alive() && !s.stopped() {
			return false
		}
	}
	return true
}
