package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ExecStream runs a command and hands over raw output as it arrives. emit may
// block: that slows the command down and loses nothing. There is no cap unless
// the request has one. A command that may be handed over and still runs after its
// wait goes on by itself: then running is not nil, without output, and goes on
// where emit ended, but for the beginning of a character; with a cap, behind what
// that left out.
func (m *Manager) ExecStream(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ExecRequest, emit func(schemas.Stream, []byte) error) (_ schemas.ExecExit, running *schemas.ExecState, err error) {
	defer m.observe("exec", time.Now(), &err)
	c, err := m.checkExec(req)
	if err != nil {
		return schemas.ExecExit{}, nil, err
	}
	encoding, err := checkEncoding(req.Encoding)
	if err != nil {
		return schemas.ExecExit{}, nil, err
	}
	c.MaxStdout, c.MaxStderr = -1, -1
	if req.MaxOutputBytes != nil {
		limit, err := m.outputCap(req.MaxOutputBytes)
		if err != nil {
			return schemas.ExecExit{}, nil, err
		}
		c.MaxStdout, c.MaxStderr = limit, limit
	}
	var ends streamEnds
	exit, err := m.exec(ctx, o, id, c, req.Env, ends.watch(emit))
	if err != nil {
		return schemas.ExecExit{}, nil, err
	}
	if exit.Running {
		r := handedOver(c, exit, ends.stdout.excerpt(exit.StdoutBytes), ends.stderr.excerpt(exit.StderrBytes))
		s := execState(r, offsets{r.stdout.start, r.stderr.start}, 0, encoding)
		s.Cursor, s.More = r.passed(encoding).cursor(), false
		running = &s
	}
	return exitOf(exit), running, nil
}

// streamEnds are the last bytes that were emitted.
type streamEnds struct{ stdout, stderr streamEnd }

type streamEnd struct {
	total int64
	last  []byte
}

func (e *streamEnds) watch(emit emitter) emitter {
	return func(s schemas.Stream, chunk []byte) error {
		end := &e.stdout
		if s == schemas.Stderr {
			end = &e.stderr
		}
		end.total += int64(len(chunk))
		end.last = append(end.last, chunk[max(0, len(chunk)-maxRune):]...)
		end.last = end.last[max(0, len(end.last)-maxRune):]
		return emit(s, chunk)
	}
}

func (e streamEnd) excerpt(total int64) excerpt {
	return newExcerpt(e.total-int64(len(e.last)), e.last, total, false)
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
