package tools

import (
	"context"
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
- The command is killed, with all it started, after timeout_seconds (default {{.DefaultExecTimeoutSeconds}}, at most {{.MaxExecTimeoutSeconds}}; timed_out is then true and the output up to there is returned). Give more for installs, builds and test suites.
- Standard input is empty unless stdin is given: a program that asks questions gets end of file, so use flags like -y.
- To leave a server running, start it in the background: "nohup server >server.log 2>&1 &". It ends with the sandbox, and on rollback.
- Of stdout and of stderr at most {{.StreamBytes}} bytes each are returned (less when both are long, or full of escapes): the start and the end, with one line in the middle saying how much is missing. {{if lt .StreamBytes .MaxStreamBytes}}max_output_bytes asks for more, up to {{.MaxStreamBytes}}; else redirect{{else}}For more, redirect{{end}} into a file and read parts of it, or filter with grep, head or tail. truncated says whether anything is missing, stdout_bytes and stderr_bytes are the true sizes.
- Runs without root. Only /workspace and /tmp are writable. {{if .AllowNetwork}}Without network: true at sandbox_create there{{else}}There{{end}} is no network, so downloads fail at once.
- Calls at the same time in one sandbox are independent of each other.`,
	Hints:     hints{Destructive: true, OpenWorld: true},
	MaxResult: maxResultChars,
}, runExec)

func runExec(ctx context.Context, c *call, in schemas.ExecArgs) (schemas.ExecResult, string, error) {
	limit, err := within("max_output_bytes", in.MaxOutputBytes, defaultStreamBytes, 0, maxStreamBytes)
	if err != nil {
		return schemas.ExecResult{}, "", err
	}
	limit = min(limit, c.Config().MaxExecOutputBytes)
	req, err := in.Request()
	if err != nil {
		return schemas.ExecResult{}, "", err
	}
	out := newOutput(int(limit), in.Encoding)
	out.timeout = timeoutText(req.TimeoutSeconds, c.Config())
	p := c.startProgress(ctx)
	defer p.close()
	exit, _, err := c.ExecStream(ctx, c.owner, in.SandboxID, req, func(s schemas.Stream, chunk []byte) error {
		out.add(s, chunk)
		p.output(s, chunk)
		return nil
	})
	if err != nil {
		return schemas.ExecResult{}, "", err
	}
	result, text := out.result(exit)
	return result, text, nil
}

// timeoutText names the limit that a command may run into.
func timeoutText(asked *float64, cfg manager.Config) string {
	if asked == nil {
		return fmt.Sprintf("%v, the default; at most %v", cfg.DefaultExecTimeoutSeconds, cfg.MaxExecTimeoutSeconds)
	}
	return fmt.Sprintf("%v; at most %v", *asked, cfg.MaxExecTimeoutSeconds)
}
