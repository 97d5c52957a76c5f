package tools

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var execPoll = define(about{
	Name:  "exec_poll",
	Title: "Follow a background command",
	Description: `Waits for a command that exec left in the background, and returns its new output and, once it has ended, exit_code.

- It returns when the command has ended or after wait_seconds (default 30, at most 60), whichever comes first, with all that was written meanwhile. wait_seconds: 0 only looks; use it for servers, which do not end.
- Pass the cursor of the last result for this command, to get each piece of output once. Without a cursor you get all that is still kept, from the start.
- Output is cut as in exec: start and end, and one line that says how much is missing. The cursor then is behind all of it. Of each stream the last 1 MiB is kept; what was dropped before you came is counted in dropped_bytes.
- status is running or exited. The output and result of an ended command stay for later calls until 32 newer ones have been started, the sandbox's container has restarted, or a rollback.
- Without exec_id it lists the sandbox's background commands.`,
	Hints:     hints{ReadOnly: true, Idempotent: true},
	MaxResult: maxResultChars,
}, pollExec)

const pollWait = 30.0

func pollExec(ctx context.Context, c *call, in schemas.ExecPollArgs) (schemas.ExecPolled, string, error) {
	if in.ExecID == "" {
		return listExecs(ctx, c, in)
	}
	out, err := c.newOutput(in.OutputArgs)
	if err != nil {
		return schemas.ExecPolled{}, "", err
	}
	wait := pollWait
	if in.WaitSeconds != nil {
		wait = *in.WaitSeconds
	}
	p := c.startProgress(ctx)
	defer p.close()
	x, text, err := c.watch(ctx, in.SandboxID, in.ExecID, schemas.ExecPoll{Cursor: in.Cursor, WaitSeconds: &wait}, 0, out, p)
	return schemas.ExecPolled{ExecOutcome: &x}, text, err
}

// watch follows a background command, and says what there was.
func (c *call) watch(ctx context.Context, id schemas.SandboxID, exec schemas.ExecID, poll schemas.ExecPoll, quiet time.Duration, out *output, p *progress) (schemas.ExecOutcome, string, error) {
	poll.Encoding = out.encoding
	state, err := c.WatchExec(ctx, c.owner, id, exec, poll, quiet, func(s schemas.Stream, skipped int64, chunk []byte) {
		out.addAfter(s, skipped, chunk)
		p.output(s, chunk)
	})
	if err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	r := report{output: out, info: state.ExecInfo, told: true, next: state.Cursor, whole: "since the cursor"}
	x, text := r.outcome()
	return x, text, nil
}

func listExecs(ctx context.Context, c *call, in schemas.ExecPollArgs) (schemas.ExecPolled, string, error) {
	if in.Cursor != "" {
		return schemas.ExecPolled{}, "", invalid("exec_id", "is required with a cursor")
	}
	list, err := c.ListExecs(ctx, c.owner, in.SandboxID)
	if err != nil {
		return schemas.ExecPolled{}, "", err
	}
	return schemas.ExecPolled{Execs: &list.Execs}, listText("background commands", list.Execs, "", execLine), nil
}

func execLine(x schemas.ExecInfo) string {
	how := "running"
	if x.ExitCode != nil {
		how = fmt.Sprintf("exit code %d", *x.ExitCode)
	}
	return fmt.Sprintf("%s %s after %d ms: %s", x.ExecID, how, x.DurationMS, x.Command)
}
