package client

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"sync"

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
	params.Packs = true
	r, err := c.start(ctx, protocol.PathExec, params, stdin)
	if err != nil {
		return protocol.ExecResult{}, err
	}
	defer r.close()
	var result protocol.ExecResult
	frames := newFrames(r, params.MaxStdout, params.MaxStderr, emit)
	err = frames.end(&result, func() error {
		if result.Running {
			return malformed("an exec that does not end")
		}
		return frames.check(result)
	})
	return result, err
}

// frames is the response of a call that gives output.
type frames struct {
	*response
	in   *protocol.FrameReader
	emit func(protocol.Stream, []byte) error
	max  [3]int64 // bytes asked for, by stream; negative: all
	sent [3]int64 // bytes received
	// trailer: the guest may refuse it half-way. Of a command it cannot say that.
	trailer bool

	buffer *bufio.Reader // of in
}

var frameBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, protocol.FrameBuffer) }}

func newFrames(r *response, maxStdout, maxStderr int64, emit func(protocol.Stream, []byte) error) *frames {
	f := &frames{response: r, buffer: frameBuffers.Get().(*bufio.Reader), emit: emit}
	f.buffer.Reset(r.http.Body)
	f.in = protocol.NewFrameReader(f.buffer)
	f.max[protocol.Stdout], f.max[protocol.Stderr] = maxStdout, maxStderr
	return f
}

// end reads frames up to the result, checks that, and that nothing follows it. A
// failure of the call's input is reported in place of what it caused. It comes
// once.
func (f *frames) end(result any, check func() error) error {
	defer func() {
		f.buffer.Reset(nil)
		frameBuffers.Put(f.buffer)
	}()
	payload, err := f.wait()
	if err != nil {
		return err
	}
	if err := decode(payload, result); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	if f.in.Rest() > 0 {
		return errTrailing
	}
	return f.finish()
}

func (f *frames) wait() (result []byte, err error) {
	for {
		stream, payload, err := f.in.Next()
		if err == io.EOF {
			if refused := trailerError(f.http); f.trailer && refused != nil {
				return nil, refused
			}
			err = io.ErrUnexpectedEOF // no result yet, so not an end
		}
		if err != nil {
			return nil, f.fail(err)
		}
		if stream == protocol.Result {
			return payload, nil
		}
		if err := f.output(stream, payload); err != nil {
			return nil, err
		}
	}
}

func (f *frames) output(stream protocol.Stream, payload []byte) error {
	f.sent[stream] += int64(len(payload))
	if limit := f.max[stream]; limit >= 0 && f.sent[stream] > limit {
		return malformed("more %s than the %d bytes asked for", stream, limit)
	}
	if f.ctx.Err() != nil { // do not hand out what came after a cancel
		return f.fail(f.ctx.Err())
	}
	return f.emit(stream, payload)
}

var signalName = regexp.MustCompile(`^(SIG[A-Z0-9+-]{1,16})?$`)

// check keeps impossible results from the server's callers.
func (f *frames) check(r protocol.ExecResult) error {
	if r.StdoutBytes < f.sent[protocol.Stdout] || r.StderrBytes < f.sent[protocol.Stderr] {
		return malformed("totals below the bytes that came")
	}
	return checkResult(r)
}

func checkResult(r protocol.ExecResult) error {
	switch {
	case r.ExitCode < 0 || r.ExitCode > 255:
		return malformed("exit code %d", r.ExitCode)
	case !signalName.MatchString(r.Signal):
		return malformed("signal name of %d bytes", len(r.Signal))
	case r.StdoutBytes < 0 || r.StderrBytes < 0:
		return malformed("totals below zero")
	case r.Duration < 0:
		return malformed("duration %d", r.Duration)
	}
	return nil
}
