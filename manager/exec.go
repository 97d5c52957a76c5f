package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Exec runs a command and returns its output, capped per stream. Beyond the cap
// the command goes on and its output is counted and dropped inside the sandbox.
// A command that may be handed over and still runs after its wait goes on by
// itself: then running is not nil, and has the output so far.
func (m *Manager) Exec(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ExecRequest) (result schemas.ExecResult, running *schemas.ExecState, err error) {
	defer m.observe("exec", time.Now(), &err)
	c, err := m.checkExec(req)
	if err != nil {
		return result, nil, err
	}
	encoding, err := checkEncoding(req.Encoding)
	if err != nil {
		return result, nil, err
	}
	limit, err := m.outputCap(req.MaxOutputBytes)
	if err != nil {
		return result, nil, err
	}
	c.MaxStdout, c.MaxStderr = limit, limit
	out := newOutput(limit)
	exit, err := m.exec(ctx, o, id, c, req.Env, out.emit)
	switch {
	case err != nil:
		return result, nil, err
	case exit.Running:
		r := handedOver(c, exit, newExcerpt(0, out.stdout, exit.StdoutBytes, false), newExcerpt(0, out.stderr, exit.StderrBytes, false))
		s := execState(r, offsets{}, limit, encoding)
		return result, &s, nil
	}
	return out.result(exit, encoding), nil, nil
}

// handedOver is a command at its hand-over, with what has been kept of its
// output so far.
func handedOver(c Command, exit Exit, stdout, stderr excerpt) *reading {
	return &reading{
		ExecState{ID: c.Background.ID, Argv: c.Argv, Started: time.Now().Add(-exit.Duration), Terminal: c.Background.Terminal != nil, Running: true, Exit: exit},
		stdout, stderr,
	}
}

// exec runs a command that lacks only its environment. It is never run twice:
// when the guest is lost, nobody can tell how far the command came.
func (m *Manager) exec(ctx context.Context, o Owner, id schemas.SandboxID, c Command, env map[string]string, emit emitter) (Exit, error) {
	v, err := m.enter(ctx, o, id)
	if err != nil {
		return Exit{}, err
	}
	defer v.leave()
	l := v.s.currentLink()
	c.Env = environ(l.inc.Image.Env, l.spec.Env, env)
	if err := checkTotal(c); err != nil {
		return Exit{}, err
	}
	if err := v.s.beginExec(); err != nil {
		return Exit{}, err
	}
	defer v.s.endExec()
	now := c.Background != nil && c.Background.Wait == 0
	if now { // what comes before it is handed over is left for the first poll
		emit = func(schemas.Stream, []byte) error { return nil }
	}
	exit, err := v.run(c, emit)
	if err == nil && exit.Running && v.ctx.Err() != nil {
		err = v.abandon(c.Background.ID)
	}
	if now {
		exit.StdoutBytes, exit.StderrBytes = 0, 0
	}
	if c.Background != nil && isKind(err, KindLimit) {
		return Exit{}, tooManyExecs()
	}
	return exit, v.explain(err)
}

// abandon kills a command that was handed over just when its caller went away:
// nobody else knows its ID.
func (v *visit) abandon(id schemas.ExecID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), killTime)
	defer cancel()
	if err := v.guest.Kill(ctx, id); err != nil {
		v.m.log.Warn("kill abandoned exec", "sandbox", v.s.id, "error", err)
	}
	return context.Cause(v.ctx)
}

// ErrNoPlace is behind the failure of an exec that did not start because as many
// background execs run as there may be, of which it might have become one.
var ErrNoPlace = errors.New("no place for another background exec")

func tooManyExecs() *Error {
	return &Error{
		Kind: KindLimit, Cause: ErrNoPlace, Message: fmt.Sprintf("%d background execs are running in this sandbox; more are not allowed at a time", MaxBackground),
		Hint: "List the sandbox's background execs and kill those that are no longer needed.",
	}
}

// maxExecs bounds what one sandbox can make the server hold at a time: calls that
// wait for a command, of which the guest takes no more than 48, and terminals.
const maxExecs = 64

func (s *sandbox) beginExec() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.execs >= maxExecs {
		return &Error{
			Kind: KindLimit, Message: fmt.Sprintf("%d commands are running in this sandbox; more are not allowed at a time", maxExecs),
			Hint: "Wait for one to end, or run several from one command.", Retryable: true,
		}
	}
	s.execs++
	return nil
}

func (s *sandbox) endExec() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.execs--
}
