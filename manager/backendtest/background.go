package backendtest

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// find gives a background exec of the container.
func (g *guest) find(id schemas.ExecID) (t *task, err error) {
	err = g.locked(func() error {
		i := slices.IndexFunc(g.box.tasks, func(t *task) bool { return t.id == id })
		if i < 0 {
			return fail(manager.KindNotFound, "no exec %s", id)
		}
		t = g.box.tasks[i]
		return nil
	})
	return t, err
}

// on runs a method on one background exec, amid its faults.
func (g *guest) on(ctx context.Context, op Op, id schemas.ExecID, method func(context.Context, *task) error) error {
	return g.during(ctx, op, func(ctx context.Context) error {
		t, err := g.find(id)
		if err != nil {
			return err
		}
		return method(ctx, t)
	})
}

// Execs implements Guest.
func (g *guest) Execs(ctx context.Context) (all []manager.ExecState, err error) {
	err = g.call(ctx, OpExecs, func() error {
		for _, t := range g.box.tasks {
			t.kept.mu.Lock()
			all = append(all, t.stateLocked())
			t.kept.mu.Unlock()
		}
		return nil
	})
	return all, err
}

// Poll implements Guest.
func (g *guest) Poll(ctx context.Context, id schemas.ExecID, o manager.PollOptions, emit func(schemas.Stream, []byte) error) (s manager.ExecState, err error) {
	err = g.on(ctx, OpPoll, id, func(ctx context.Context, t *task) error {
		s, err = t.poll(ctx, o, emit)
		return err
	})
	return s, err
}

func (t *task) poll(ctx context.Context, o manager.PollOptions, emit func(schemas.Stream, []byte) error) (manager.ExecState, error) {
	k := t.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	f := &follower{}
	var err error
	if f.stdout, err = k.stdout.from(o.Stdout); err != nil {
		return manager.ExecState{}, err
	}
	if f.stderr, err = k.stderr.from(o.Stderr); err != nil {
		return manager.ExecState{}, err
	}
	begin := *f
	if o.Follow {
		o.MaxBytes = -1
		k.followers[f] = true
		defer func() {
			delete(k.followers, f)
			k.changeLocked()
		}()
	}
	for timeout := time.After(max(0, o.Wait)); ; {
		if !o.Follow { // what it waited before may be gone: nobody was held up for it
			f.stdout, f.stderr = max(f.stdout, k.stdout.start()), max(f.stderr, k.stderr.start())
			begin = *f
		}
		got, err := k.giveLocked(f, o, emit)
		if err != nil {
			return manager.ExecState{}, err
		}
		if k.over && !got || got && !o.Follow || !o.Follow && o.Wait <= 0 {
			break
		}
		if !got {
			if expired, err := k.waitLocked(ctx, timeout, o.Follow); expired {
				break
			} else if err != nil {
				return manager.ExecState{}, err
			}
		}
	}
	s := t.stateLocked()
	s.Stdout, s.Stderr = begin.stdout, begin.stderr
	return s, nil
}

// giveLocked emits what there is for a reader, and moves it on. The lock is let
// go of meanwhile.
func (k *kept) giveLocked(f *follower, o manager.PollOptions, emit func(schemas.Stream, []byte) error) (got bool, err error) {
	stdout, stderr := k.stdout.next(f.stdout, o.MaxBytes), k.stderr.next(f.stderr, o.MaxBytes)
	if len(stdout)+len(stderr) == 0 {
		return false, nil
	}
	k.mu.Unlock()
	err = emitAll(schemas.Stdout, stdout, emit)
	if err == nil {
		err = emitAll(schemas.Stderr, stderr, emit)
	}
	k.mu.Lock()
	f.stdout += int64(len(stdout))
	f.stderr += int64(len(stderr))
	k.changeLocked() // who writes may have waited for this
	return true, err
}

func emitAll(s schemas.Stream, bytes []byte, emit func(schemas.Stream, []byte) error) error {
	for chunk := range slices.Chunk(bytes, 32<<10) {
		if err := emit(s, chunk); err != nil {
			return err
		}
	}
	return nil
}

// waitLocked waits for a change; the lock is let go of meanwhile.
func (k *kept) waitLocked(ctx context.Context, timeout <-chan time.Time, follow bool) (expired bool, err error) {
	changed := k.changed
	k.mu.Unlock()
	defer k.mu.Lock()
	if follow {
		timeout = nil
	}
	select {
	case <-changed:
		return false, nil
	case <-timeout:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Input implements Guest.
func (g *guest) Input(ctx context.Context, id schemas.ExecID, r io.Reader, end bool) (taken int64, err error) {
	err = g.on(ctx, OpInput, id, func(ctx context.Context, t *task) error {
		if !t.open {
			return fail(manager.KindConflict, "the command's standard input is not open")
		}
		select {
		case t.feeding <- struct{}{}:
			defer func() { <-t.feeding }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		taken, err = t.feed(ctx, r, end)
		return err
	})
	return taken, err
}

func (t *task) feed(ctx context.Context, r io.Reader, end bool) (taken int64, err error) {
	if t.kept.ended() {
		return 0, fail(manager.KindConflict, "the command has ended")
	}
	source := pump(ctx, r)
	defer source.Close()
	buf := make([]byte, 32<<10)
	for {
		n, readErr := source.Read(buf)
		if n > 0 {
			took, err := t.input.write(ctx, buf[:n])
			taken += int64(took)
			if err != nil {
				return taken, err
			}
		}
		switch {
		case readErr == io.EOF:
			if end {
				t.input.end()
			}
			return taken, nil
		case readErr != nil:
			return taken, readErr
		}
	}
}

// Signal implements Guest.
func (g *guest) Signal(ctx context.Context, id schemas.ExecID, signal string) error {
	return g.on(ctx, OpSignal, id, func(_ context.Context, t *task) error {
		if t.kept.ended() {
			return fail(manager.KindConflict, "the command has ended")
		}
		if signals[signal] == 0 {
			return fail(manager.KindInvalid, "%q is no signal", signal)
		}
		if !t.run.traps.deliver(signal) {
			t.run.killBy(signal)
		}
		return nil
	})
}

// Kill implements Guest.
func (g *guest) Kill(ctx context.Context, id schemas.ExecID) error {
	return g.on(ctx, OpKill, id, func(ctx context.Context, t *task) error {
		t.run.killBy("SIGKILL")
		t.run.kill() // also what it has left behind
		k := t.kept
		k.mu.Lock()
		defer k.mu.Unlock()
		for !k.over {
			if _, err := k.waitLocked(ctx, nil, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// Resize implements Guest.
func (g *guest) Resize(ctx context.Context, id schemas.ExecID, size manager.WindowSize) error {
	return g.on(ctx, OpResize, id, func(_ context.Context, t *task) error {
		return g.locked(func() error {
			if t.terminal == nil {
				return fail(manager.KindConflict, "the command has no terminal")
			}
			t.terminal = &size
			t.run.traps.deliver("SIGWINCH")
			return nil
		})
	})
}
