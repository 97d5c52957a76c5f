package tools

import (
	"context"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var execKill = define(about{
	Name:  "exec_kill",
	Title: "End a background command",
	Description: `Kills a background command with everything it has started, or sends it a signal.

- By default it and all its children are gone when this returns, also children that have left its process group or that it left behind when it ended. It is safe to repeat. Of a command that had ended already, exit_code is its own.
- With signal, only that signal is sent, to its process group, and the command may handle it: INT is Ctrl-C, TERM asks to end, HUP makes many servers read their configuration again. Look by exec_poll what it does.
- Its output and result can still be read by exec_poll.`,
	Hints: hints{Destructive: true},
}, killExec)

func killExec(ctx context.Context, c *call, in schemas.ExecKillArgs) (schemas.ExecKilled, string, error) {
	if in.Signal == "" {
		if err := c.KillExec(ctx, c.owner, in.SandboxID, in.ExecID); err != nil {
			return schemas.ExecKilled{}, "", err
		}
		killed, text := c.killed(ctx, in)
		return killed, text, nil
	}
	if err := c.SignalExec(ctx, c.owner, in.SandboxID, in.ExecID, schemas.SignalRequest{Signal: in.Signal}); err != nil {
		return schemas.ExecKilled{}, "", err
	}
	return schemas.ExecKilled{ExecID: in.ExecID, Signal: in.Signal}, fmt.Sprintf("sent %s to %s", in.Signal, in.ExecID), nil
}

// killed says of a command whether the kill was what ended it. That is seen
// afterwards: before, it might still end by itself. When it cannot be seen any
// more, what was asked for is done all the same.
func (c *call) killed(ctx context.Context, in schemas.ExecKillArgs) (schemas.ExecKilled, string) {
	list, _ := c.ListExecs(ctx, c.owner, in.SandboxID)
	for _, x := range list.Execs {
		if x.ExecID == in.ExecID && x.ExitCode != nil && (x.Signal == nil || *x.Signal != "SIGKILL" || *x.TimedOut) {
			r := report{info: x}
			text := fmt.Sprintf("%s had ended already, with %s after %d ms; what it had left running was killed", in.ExecID, r.ending(), x.DurationMS)
			return schemas.ExecKilled{ExecID: in.ExecID, ExitCode: x.ExitCode}, text
		}
	}
	return schemas.ExecKilled{ExecID: in.ExecID, Signal: "SIGKILL"}, fmt.Sprintf("killed %s with all it had started", in.ExecID)
}
