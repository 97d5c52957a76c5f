package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ExecStream runs a command and hands over raw output as it arrives. emit may
// block: that slows the command down and loses nothing. There is no cap unless
// the request has one.
func (m *Manager) ExecStream(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ExecRequest, emit func(schemas.Stream, []byte) error) (_ schemas.ExecExit, err error) {
	defer m.observe("exec", time.Now(), &err)
	c, err := m.checkExec(req)
	if err != nil {
		return schemas.ExecExit{}, err
	}
	if _, err := checkEncoding(req.Encoding); err != nil {
		return schemas.ExecExit{}, err
	}
	c.MaxStdout, c.MaxStderr = -1, -1
	if req.MaxOutputBytes != nil {
		limit, err := m.outputCap(req.MaxOutputBytes)
		if err != nil {
			return schemas.ExecExit{}, err
		}
		c.MaxStdout, c.MaxStderr = limit, limit
	}
	exit, err := m.exec(ctx, o, id, c, req.Env, emit)
	if err != nil {
		return schemas.ExecExit{}, err
	}
	return exitOf(exit), nil
}

func exitOf(e Exit) schemas.ExecExit {
	exit := schemas.ExecExit{
		ExitCode: e.Code, TimedOut: e.TimedOut, OOMKilled: e.OOMKilled,
		DurationMS: e.Duration.Milliseconds(), StdoutBytes: e.StdoutBytes, StderrBytes: e.StderrBytes,
	}
	if e.Signal != "" {
		exit.Signal = &e.Signal
	}
	return exit
}
