package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Exec runs a command and returns its output, capped per stream. Beyond the cap
// the command goes on and its output is counted and dropped inside the sandbox.
func (m *Manager) Exec(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ExecRequest) (_ schemas.ExecResult, err error) {
	defer m.observe("exec", time.Now(), &err)
	c, err := m.checkExec(req)
	if err != nil {
		return schemas.ExecResult{}, err
	}
	encoding, err := checkEncoding(req.Encoding)
	if err != nil {
		return schemas.ExecResult{}, err
	}
	limit, err := m.outputCap(req.MaxOutputBytes)
	if err != nil {
		return schemas.ExecResult{}, err
	}
	c.MaxStdout, c.MaxStderr = limit, limit
	out := newOutput(limit)
	exit, err := m.exec(ctx, o, id, c, req.Env, out.emit)
	if err != nil {
		return schemas.ExecResult{}, err
	}
	return out.result(exit, encoding), nil
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
	exit, err := v.run(c, emit)
	return exit, v.explain(err)
}

// maxExecs bounds what one sandbox can make the server hold at a time.
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
