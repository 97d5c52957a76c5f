package client

import (
	"context"
	"io"
	"regexp"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Exec runs a command to its end. emit gets its output in order, never two
// calls at once; a chunk is valid only during the call. While emit blocks, the
// command is slowed once the pipes and windows between are full. An error of
// emit or the end of ctx kills the command with all it started, and is
// returned; emit itself must not outlive ctx.
//
// stdin is read only if params.HasStdin. The command may end before stdin does:
// then one Read of stdin may still be under way when Exec returns.
func (c *Client) Exec(ctx context.Context, params protocol.ExecParams, stdin io.Reader, emit func(stream protocol.Stream, chunk []byte) error) (protocol.ExecResult, error) {
	if !params.HasStdin {
		stdin = nil
	}
	r, err := c.start(ctx, protocol.PathExec, params, stdin)
	if err != nil {
		return protocol.ExecResult{}, err
	}
	defer r.close()
	run := &execution{response: r, frames: protocol.NewFrameReader(r.http.Body), emit: emit, params: params}
	return run.wait()
}

// execution is a command that runs.
type execution struct {
	*response
	frames *protocol.FrameReader
	params protocol.ExecParams
	emit   func(protocol.Stream, []byte) error
	sent   [3]int64 // bytes received, by stream
}

// wait reads frames until the result. A failure of the standard input is
// reported in place of what it caused.
func (e *execution) wait() (result protocol.ExecResult, err error) {
	for {
		stream, payload, err := e.frames.Next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // no result yet, so not an end
		}
		if err != nil {
			return result, e.fail(err)
		}
		if stream == protocol.Result {
			return e.end(payload)
		}
		if err := e.output(stream, payload); err != nil {
			return result, err
		}
	}
}

func (e *execution) output(stream protocol.Stream, payload []byte) error {
	e.sent[stream] += int64(len(payload))
	if limit := e.limit(stream); limit >= 0 && e.sent[stream] > limit {
		return malformed("more %s than the %d bytes asked for", stream, limit)
	}
	if e.ctx.Err() != nil { // do not hand out what came after a cancel
		return e.fail(e.ctx.Err())
	}
	return e.emit(stream, payload)
}

func (e *execution) limit(stream protocol.Stream) int64 {
	if stream == protocol.Stdout {
		return e.params.MaxStdout
	}
	return e.params.MaxStderr
}

func (e *execution) end(payload []byte) (result protocol.ExecResult, err error) {
	if err := decode(payload, &result); err != nil {
		return result, err
	}
	if err := e.check(result); err != nil {
		return protocol.ExecResult{}, err
	}
	return result, e.finish()
}

var signalName = regexp.MustCompile(`^(SIG[A-Z0-9+-]{1,16})?$`)

// check keeps impossible results from the server's callers.
func (e *execution) check(r protocol.ExecResult) error {
	switch {
	case r.ExitCode < 0 || r.ExitCode > 255:
		return malformed("exit code %d", r.ExitCode)
	case !signalName.MatchString(r.Signal):
		return malformed("signal name of %d bytes", len(r.Signal))
	case r.StdoutBytes < e.sent[protocol.Stdout] || r.StderrBytes < e.sent[protocol.Stderr]:
		return malformed("totals below the bytes that came")
	case r.Duration < 0:
		return malformed("duration %d", r.Duration)
	}
	return nil
}
