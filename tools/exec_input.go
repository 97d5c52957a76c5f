package tools

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var execInput = define(about{
	Name:  "exec_input",
	Title: "Type into a background command",
	Description: `Writes to the standard input of a background command, and returns what the command answers.

- The command must have been started by exec with background: true and without stdin: only then is its input open.
- Good for interpreters and prompts: start e.g. "python3 -i -q" once, then send it line after line; its variables stay. Programs that notice that they have no terminal may need a flag to show a prompt or to write at once (python3 -u, -i).
- End each line with a newline. end: true ends the input: the program reads end of file.
- It returns when the command has answered and then been silent for a moment, when it has ended, or after wait_seconds (default 2, at most 60). When nothing came yet, go on with exec_poll and the cursor.
- The result is like that of exec_poll. Without a cursor it has only output that came after the input.
- A command that does not read its input within 10 seconds is a conflict, which says how many bytes it has taken.`,
	Hints:     hints{Destructive: true, OpenWorld: true},
	MaxResult: maxResultChars,
}, inputExec)

const (
	inputWait = 2.0
	// answerGap is the silence that ends an answer.
	answerGap = 200 * time.Millisecond
)

func inputExec(ctx context.Context, c *call, in schemas.ExecInputArgs) (schemas.ExecOutcome, string, error) {
	// All that can be wrong is found before the input is written.
	data, err := inputBytes(in)
	if err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	wait := inputWait
	if in.WaitSeconds != nil {
		wait = *in.WaitSeconds
	}
	if !(wait >= 0 && wait <= 60) {
		return schemas.ExecOutcome{}, "", invalid("wait_seconds", "must be from 0 to 60, got %v", wait)
	}
	out, err := c.newOutput(in.OutputArgs)
	if err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	before, err := c.unread(ctx, in, out)
	if err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	if err := c.InputExec(ctx, c.owner, in.SandboxID, in.ExecID, data, in.End); err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	p := c.startProgress(ctx)
	defer p.close()
	return c.watch(ctx, in.SandboxID, in.ExecID, schemas.ExecPoll{Cursor: before, WaitSeconds: &wait}, answerGap, out, p)
}

// unread takes what came since the cursor, and is no answer to what is written
// now; the cursor that it returns is behind that.
func (c *call) unread(ctx context.Context, in schemas.ExecInputArgs, out *output) (cursor string, err error) {
	emit := out.addAfter
	if in.Cursor == "" {
		emit = func(schemas.Stream, int64, []byte) {}
	}
	state, err := c.WatchExec(ctx, c.owner, in.SandboxID, in.ExecID, schemas.ExecPoll{Cursor: in.Cursor, Encoding: out.encoding}, 0, emit)
	return state.Cursor, err
}

func inputBytes(in schemas.ExecInputArgs) ([]byte, error) {
	switch {
	case in.Input != nil && in.InputBase64 != nil:
		return nil, invalid("input", "must not be given together with input_base64")
	case in.Input != nil:
		return []byte(*in.Input), nil
	case in.InputBase64 != nil:
		data, err := base64.StdEncoding.DecodeString(*in.InputBase64)
		if err != nil {
			return nil, invalid("input_base64", "must be standard base64: %v", err)
		}
		return data, nil
	case in.End:
		return nil, nil
	}
	return nil, invalid("input", "is required, unless input_base64 or end is given")
}
