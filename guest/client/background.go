package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Start runs a command as [Client.Exec] does, but not longer than params.Wait:
// then the result says Running, and the command goes on without the call. When
// Start ends with an error of the caller's own (its ctx or emit) nothing goes on.
func (c *Client) Start(ctx context.Context, params protocol.StartParams, stdin io.Reader, emit func(stream protocol.Stream, chunk []byte) error) (result protocol.ExecResult, err error) {
	if !params.HasStdin {
		stdin = nil
	}
	params.Packs = true
	r, err := c.start(ctx, protocol.PathStart, params, stdin)
	if err != nil {
		c.killAfter(err, params.ID)
		return protocol.ExecResult{}, err
	}
	defer r.close()
	frames := newFrames(r, params.MaxStdout, params.MaxStderr, emit)
	err = frames.end(&result, func() error {
		if err := frames.check(result); err != nil || !result.Running {
			return err
		}
		return frames.checkRunning(result)
	})
	if err != nil {
		c.killAfter(err, params.ID)
		return protocol.ExecResult{}, err
	}
	return result, nil
}

// checkRunning makes sure that output goes on where it left off.
func (f *frames) checkRunning(r protocol.ExecResult) error {
	for stream, total := range map[protocol.Stream]int64{protocol.Stdout: r.StdoutBytes, protocol.Stderr: r.StderrBytes} {
		if sent := f.sent[stream]; sent != total && (f.max[stream] < 0 || sent < f.max[stream]) {
			return malformed("%s goes on at %d after %d bytes", stream, total, sent)
		}
	}
	return nil
}

// killPatience bounds what is done after a call has returned.
const killPatience = 3 * time.Second

// killAfter makes sure that nothing goes on of a start that its caller gave up:
// it may have been handed over in the same moment. A guest that refused has
// started nothing, and one that is lost kills what it had not handed over.
func (c *Client) killAfter(err error, id string) {
	var refused *protocol.Error
	if errors.As(err, &refused) || errors.Is(err, ErrLost) {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), killPatience)
		defer cancel()
		c.Kill(ctx, protocol.KillParams{ID: id})
	}()
}

// Execs lists the background execs, oldest first.
func (c *Client) Execs(ctx context.Context) (all []protocol.ExecState, err error) {
	text, err := c.text(ctx, protocol.PathExecs, struct{}{}, nil, maxExecs)
	if err != nil {
		return nil, err
	}
	return parseExecs(text)
}

// parseExecs reads one state at a time, so that a small text cannot become a
// large list.
func parseExecs(text []byte) (all []protocol.ExecState, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	for d.More() {
		var state protocol.ExecState
		if err := d.Decode(&state); err != nil {
			return nil, malformed("%v", err)
		}
		if len(all) == maxListed {
			return nil, malformed("more than %d background execs", maxListed)
		}
		if err := checkState(state); err != nil {
			return nil, err
		}
		all = append(all, state)
	}
	return all, nil
}

// Poll reads output of a background exec, see [protocol.PollParams]. emit is
// called as by [Client.Exec]. The state's Stdout and Stderr are never below what
// was asked for; what lies between was dropped.
func (c *Client) Poll(ctx context.Context, params protocol.PollParams, emit func(stream protocol.Stream, chunk []byte) error) (state protocol.ExecState, err error) {
	params.Packs = true
	r, err := c.start(ctx, protocol.PathPoll, params, nil)
	if err != nil {
		return state, err
	}
	defer r.close()
	limit := params.MaxBytes
	if params.Follow {
		limit = -1
	}
	frames := newFrames(r, limit, limit, emit)
	frames.trailer = true
	err = frames.end(&state, func() error { return frames.checkPoll(params, state) })
	if err != nil {
		return protocol.ExecState{}, err
	}
	return state, nil
}

func (f *frames) checkPoll(params protocol.PollParams, s protocol.ExecState) error {
	if err := checkState(s); err != nil {
		return err
	}
	switch {
	case s.ID != params.ID:
		return malformed("the state of another exec")
	case s.Stdout < params.Stdout || s.Stderr < params.Stderr:
		return malformed("output from before what was asked for")
	case s.Stdout > s.Result.StdoutBytes-f.sent[protocol.Stdout] || s.Stderr > s.Result.StderrBytes-f.sent[protocol.Stderr]:
		return malformed("output beyond the totals")
	case params.Follow && s.Result.Running:
		return malformed("a follower that was left before the end")
	}
	return nil
}

// Limits of what is told of a background exec.
const (
	maxListed = 4 * protocol.MaxBackground // several handed over at once may be more than it
	maxExecs  = maxListed << 13            // the list of them, as JSON
	maxArgv   = 3*protocol.MaxArgv + 3     // what is no UTF-8 grows
)

func checkState(s protocol.ExecState) error {
	size := 0
	for _, arg := range s.Argv {
		size += len(arg) + 1
	}
	switch {
	case !protocol.ValidExecID(s.ID):
		return malformed("an exec ID of %d bytes", len(s.ID))
	case size > maxArgv:
		return malformed("an argv of %d bytes", size)
	case s.Started.Year() < 1970 || s.Started.Year() > 9000:
		return malformed("an exec of another time")
	case s.Stdout < 0 || s.Stderr < 0:
		return malformed("offsets below zero")
	}
	return checkResult(s.Result)
}

// Signal sends a signal to a background exec.
func (c *Client) Signal(ctx context.Context, params protocol.SignalParams) error {
	return c.call(ctx, protocol.PathSignal, params, nil, &struct{}{})
}

// Kill ends a background exec with all that it started.
func (c *Client) Kill(ctx context.Context, params protocol.KillParams) error {
	return c.call(ctx, protocol.PathKill, params, nil, &struct{}{})
}

// Resize changes the size of a background exec's terminal.
func (c *Client) Resize(ctx context.Context, params protocol.ResizeParams) error {
	return c.call(ctx, protocol.PathResize, params, nil, &struct{}{})
}
