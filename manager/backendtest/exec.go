package backendtest

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// run is one exec: the command and all it starts.
type run struct {
	live   context.Context // ends when it is killed
	kill   context.CancelFunc
	state  atomic.Int32           // running, then for ever one of the others
	signal atomic.Pointer[string] // that ended it, with signalled
	traps  *traps

	// turn is held by who emits, and guards what follows. A channel and not a
	// mutex, for emit may block and a synctest bubble cannot tell a goroutine
	// that waits for a mutex from a busy one.
	turn chan struct{}
	emit func(schemas.Stream, []byte) error // nil once nobody listens any more
	kept *kept                              // of a background exec
	exit manager.Exit
	err  error // of emit
}

const (
	running   = iota
	ended     // the command itself ended: later output has no reader
	timedOut  // its timeout killed it
	signalled // a signal ended it
)

func (g *guest) newRun(emit func(schemas.Stream, []byte) error) *run {
	r := &run{emit: emit, turn: make(chan struct{}, 1), traps: newTraps()}
	r.live, r.kill = context.WithCancel(g.box.alive)
	return r
}

// Exec implements Guest.
func (g *guest) Exec(ctx context.Context, c manager.Command, emit func(schemas.Stream, []byte) error) (exit manager.Exit, err error) {
	err = g.during(ctx, OpExec, func(ctx context.Context) error {
		if err := g.checkDir(c.Dir); err != nil {
			return err
		}
		r := g.newRun(emit)
		if c.Background != nil {
			exit, err = g.background(ctx, r, c)
			return err
		}
		stdin := pump(r.live, c.Stdin)
		defer stdin.Close()
		err := r.to(ctx, g, c, stdin)
		exit = r.exit
		return err
	})
	if err != nil {
		exit = manager.Exit{}
	}
	return exit, err
}

func (g *guest) checkDir(dir string) error {
	return g.locked(func() error {
		p, err := g.root.find(dir, true)
		switch {
		case err != nil:
			return fail(manager.KindInvalid, "workdir %s: no such file or directory", dir)
		case !p.node.isDir():
			return fail(manager.KindInvalid, "workdir %s: not a directory", dir)
		}
		return nil
	})
}

// to runs the command to its end, or kills it on the way there.
func (r *run) to(ctx context.Context, g *guest, c manager.Command, stdin io.Reader) error {
	start := time.Now()
	defer context.AfterFunc(ctx, r.kill)()
	if c.Timeout > 0 {
		defer time.AfterFunc(c.Timeout, func() { r.killAs(timedOut) }).Stop()
	}
	p := &proc{
		run: r, fake: g.fake, root: g.root, readOnly: g.readOnly,
		dir: c.Dir, env: c.Env, stdin: stdin,
		stdout: &outlet{r, schemas.Stdout, &r.exit.StdoutBytes, c.MaxStdout},
		stderr: &outlet{r, schemas.Stderr, &r.exit.StderrBytes, c.MaxStderr},
	}
	if b := c.Background; b != nil && b.Terminal != nil {
		p.stderr = p.stdout
	}
	code := p.exec(c.Argv)
	return r.end(ctx, code, p.signal, time.Since(start))
}

// killAs kills it for a reason, unless it has ended.
func (r *run) killAs(state int32) {
	if r.state.CompareAndSwap(running, state) {
		r.kill()
	}
}

// killBy ends it by a signal, the first one that comes.
func (r *run) killBy(signal string) {
	r.signal.CompareAndSwap(nil, &signal)
	r.killAs(signalled)
}

// end takes down how the command ended; the error is nil when that was by
// itself, by its timeout or by a signal.
func (r *run) end(ctx context.Context, code int, signal string, took time.Duration) error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	r.exit.Code, r.exit.Signal, r.exit.Duration = code, signal, took
	if !r.state.CompareAndSwap(running, ended) {
		r.exit.TimedOut, r.exit.Signal = r.state.Load() == timedOut, "SIGKILL"
		if !r.exit.TimedOut {
			r.exit.Signal = *r.signal.Load()
		}
		r.exit.Code = 128 + signals[r.exit.Signal]
		return nil
	}
	switch {
	case r.err != nil:
		return r.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.live.Err() != nil:
		return errLost()
	}
	return nil
}

// outlet is one output stream: it counts all and emits up to a cap.
type outlet struct {
	run   *run
	name  schemas.Stream
	total *int64
	limit int64 // negative: none
}

func (o *outlet) Write(chunk []byte) (int, error) {
	r := o.run
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.live.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	if r.state.Load() == ended {
		return len(chunk), nil
	}
	if r.kept != nil {
		if err := r.kept.add(r.live, o.name, chunk); err != nil {
			return 0, err
		}
	}
	keep := chunk
	if o.limit >= 0 {
		keep = chunk[:min(int64(len(chunk)), max(0, o.limit-*o.total))]
	}
	*o.total += int64(len(chunk))
	if len(keep) == 0 || r.emit == nil {
		return len(chunk), nil
	}
	if r.err = r.emit(o.name, keep); r.err != nil {
		r.kill()
		return 0, r.err
	}
	return len(chunk), nil
}
