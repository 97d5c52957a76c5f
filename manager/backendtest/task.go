package backendtest

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// task is a background exec. Its container has it from the hand-over on.
type task struct {
	id       schemas.ExecID
	argv     []string
	started  time.Time
	terminal *manager.WindowSize // guarded by the Fake's lock
	run      *run
	kept     *kept
	input    *queue
	open     bool          // input is fed by Input
	feeding  chan struct{} // held by the Input call whose turn it is
}

// background runs a command that may outlive the call.
func (g *guest) background(ctx context.Context, r *run, c manager.Command) (manager.Exit, error) {
	t := &task{
		id: c.Background.ID, argv: c.Argv, started: time.Now(), terminal: c.Background.Terminal,
		run: r, kept: newKept(), open: c.Background.Input && c.Stdin == nil, feeding: make(chan struct{}, 1),
	}
	r.kept = t.kept
	if c.Background.Wait == 0 {
		r.emit = nil // all of its output is for polls
	}
	if err := g.locked(func() error { return g.box.admit(t, c.Background.Wait == 0) }); err != nil {
		return manager.Exit{}, err
	}
	filled := t.plugIn(ctx, c)
	leash, pull := context.WithCancelCause(context.Background())
	letGo := context.AfterFunc(ctx, func() { pull(context.Cause(ctx)) })
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = r.to(leash, g, c, t.input)
		t.input.Close()
		t.kept.end(r.exit)
	}()
	if attached(c.Background.Wait, filled, done) || !letGo() {
		<-done
		letGo()
		return r.exit, err
	}
	return t.handOver(g, c.Background.Wait > 0)
}

// plugIn gives the command its standard input. filled is closed when the caller's
// reader is not needed any more.
func (t *task) plugIn(ctx context.Context, c manager.Command) (filled chan struct{}) {
	filled = make(chan struct{})
	if t.open {
		t.input = newQueue(t.run.live, pipeBytes)
		close(filled)
		return filled
	}
	t.input = newQueue(t.run.live, keptBytes)
	if c.Stdin == nil {
		t.input.end()
		close(filled)
		return filled
	}
	go func() {
		defer close(filled)
		t.input.fill(ctx, c.Stdin)
	}()
	return filled
}

// attached waits until the command may be handed over, or has ended before.
func attached(wait time.Duration, filled, done chan struct{}) (ended bool) {
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-done:
			return true
		case <-timer.C:
		}
	}
	select {
	case <-filled:
		return false
	case <-done:
		return wait > 0
	}
}

// handOver ends the caller's part.
func (t *task) handOver(g *guest, keep bool) (manager.Exit, error) {
	t.run.turn <- struct{}{}
	t.run.emit = nil
	err := t.run.err
	exit := manager.Exit{Running: true, Duration: time.Since(t.started)}
	if keep {
		exit.StdoutBytes, exit.StderrBytes = t.run.exit.StdoutBytes, t.run.exit.StderrBytes
	}
	<-t.run.turn
	if err != nil {
		return manager.Exit{}, err
	}
	if keep {
		err = g.locked(func() error { g.box.keep(t); return nil })
	}
	return exit, err
}

// admit refuses an exec that there is no room for; it needs the Fake's lock.
func (c *container) admit(t *task, keep bool) error {
	active := 0
	for _, other := range c.tasks {
		if other.id == t.id {
			return fail(manager.KindConflict, "exec %s is there already", t.id)
		}
		if !other.kept.ended() {
			active++
		}
	}
	if active >= manager.MaxBackground {
		return fail(manager.KindLimit, "%d background execs are running", active)
	}
	if keep {
		c.keep(t)
	}
	return nil
}

// keep remembers an exec, and forgets the oldest that have ended when they are
// too many; it needs the Fake's lock.
func (c *container) keep(t *task) {
	c.tasks = append(c.tasks, t)
	for len(c.tasks) > manager.MaxBackground {
		i := slices.IndexFunc(c.tasks, func(t *task) bool { return t.kept.ended() })
		if i < 0 {
			return
		}
		c.tasks = slices.Delete(c.tasks, i, i+1)
	}
}

// stateLocked is what is known of it, but for where output begins.
func (t *task) stateLocked() manager.ExecState {
	s := manager.ExecState{
		ID: t.id, Argv: t.argv, Started: t.started, Terminal: t.terminal != nil,
		Running: !t.kept.over, Exit: t.kept.exit,
	}
	if s.Running {
		s.Exit = manager.Exit{
			Running:     true,
			StdoutBytes: t.kept.stdout.total, StderrBytes: t.kept.stderr.total, Duration: time.Since(t.started),
		}
	}
	return s
}
