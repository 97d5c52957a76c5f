package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var execTool = define(about{
	Name:  "exec",
	Title: "Run a command",
	Description: `Runs a command in a sandbox, waits for it to end, and returns exit_code, stdout and stderr.

- command is a shell command line (/bin/sh -c: pipes, &&, $VARS work; it is not bash unless you run bash -c). argv instead runs one program without a shell, so nothing needs quoting.
- Every call is a new process in /workspace: cd and export do not carry over to the next call, files do. Use "cd dir && …", or workdir and env.
- A non-zero exit_code is an ordinary result. Read stderr and go on.
- A command that still runs after wait_seconds (default 45) is not killed: it goes on in the background, and the result has status running, exec_id and cursor. Follow it with exec_poll, end it with exec_kill.
- background: true does not wait at all. Use it for servers (not nohup or &), and for programs to talk to by exec_input.
- What kills a command, with all it started: timeout_seconds, if you give it; exec_kill; a rollback; the end of the sandbox; and cancelling this call while it waits.
- Standard input is empty unless stdin is given: a program that asks questions gets end of file, so use flags like -y.
- Of stdout and of stderr at most {{.StreamBytes}} bytes each are returned (less when both are long, or full of escapes): the start and the end, with one line in the middle saying how much is missing. {{if lt .StreamBytes .MaxStreamBytes}}max_output_bytes asks for more, up to {{.MaxStreamBytes}}; else redirect{{else}}For more, redirect{{end}} into a file and read parts of it, or filter with grep, head or tail. truncated says whether anything is missing, stdout_bytes and stderr_bytes are the true sizes.
- Runs without root. Only /workspace and /tmp are writable. {{if .AllowNetwork}}Without network: true at sandbox_create there{{else}}There{{end}} is no network, so downloads fail at once.
- Calls at the same time in one sandbox are independent of each other.`,
	Hints:     hints{Destructive: true, OpenWorld: true},
	MaxResult: maxResultChars,
}, runExec)

// execWait is how long exec waits by default: shorter than the minute that many
// clients wait.
const execWait = 45.0

func runExec(ctx context.Context, c *call, in schemas.ExecArgs) (schemas.ExecOutcome, string, error) {
	out, err := c.newOutput(in.OutputArgs)
	if err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	if in.Workdir, err = pathText("workdir", in.Workdir); err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	req, err := in.Request()
	if err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	if wait := execWait; req.WaitSeconds == nil && !req.Background {
		req.WaitSeconds = &wait
	}
	p := c.startProgress(ctx)
	defer p.close()
	emit := func(s schemas.Stream, chunk []byte) error {
		out.add(s, chunk)
		p.output(s, chunk)
		return nil
	}
	limit := timeoutText(req.TimeoutSeconds, c.Config())
	exit, running, err := c.ExecStream(ctx, c.owner, in.SandboxID, req, emit)
	if errors.Is(err, manager.ErrNoPlace) && !req.Background { // it has not begun
		limit = stay(&req, c.Config())
		exit, running, err = c.ExecStream(ctx, c.owner, in.SandboxID, req, emit)
	}
	if err != nil {
		return schemas.ExecOutcome{}, "", err
	}
	r := report{output: out, info: exited(exit), whole: "in all", limit: limit}
	if running != nil {
		out.stdout.trim() // it comes with the rest of the character
		out.stderr.trim()
		r.info, r.told, r.next, r.whole = running.ExecInfo, true, running.Cursor, "so far"
	}
	result, text := r.outcome()
	return result, text, nil
}

// stay has a command run that cannot be handed over: it is waited for until its
// timeout, which it then has to have. limit says so.
func stay(req *schemas.ExecRequest, cfg manager.Config) (limit string) {
	most := cfg.MaxExecTimeoutSeconds
	if req.TimeoutSeconds != nil {
		most = min(most, *req.TimeoutSeconds)
	}
	req.WaitSeconds, req.TimeoutSeconds = nil, &most
	return fmt.Sprintf("%v, as it could not go on in the background, where %d commands run already", most, manager.MaxBackground)
}

// newOutput is for what a command writes, within what the caller wants of it.
func (c *call) newOutput(in schemas.OutputArgs) (*output, error) {
	limit, err := within("max_output_bytes", in.MaxOutputBytes, defaultStreamBytes, 0, maxStreamBytes)
	if err != nil {
		return nil, err
	}
	return newOutput(int(min(limit, c.Config().MaxExecOutputBytes)), in.Encoding), nil
}

// timeoutText names the limit that a command may run into.
func timeoutText(asked *float64, cfg manager.Config) string {
	if asked == nil {
		return ""
	}
	return fmt.Sprintf("%v; at most %v", *asked, facts{cfg}.MostTimeout())
}
