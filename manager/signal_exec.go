package manager

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// SignalExec sends a signal to the process group of a background exec. One that
// has ended is a conflict.
func (m *Manager) SignalExec(ctx context.Context, o Owner, id schemas.SandboxID, exec schemas.ExecID, req schemas.SignalRequest) (err error) {
	defer m.observe("exec_signal", time.Now(), &err)
	if err := checkExecID(exec); err != nil {
		return err
	}
	signal, err := checkSignal(req.Signal)
	if err != nil {
		return err
	}
	return m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		err := g.Signal(ctx, exec, signal)
		if isKind(err, KindConflict) {
			return &Error{Kind: KindConflict, Message: "the command has ended, so there is nothing to send " + signal + " to", Hint: "Poll it to see how it ended.", Cause: err}
		}
		return execError(exec, err)
	})
}

// signalNames are those of Linux, but for the real-time ones.
var signalNames = strings.Fields(`HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT
	CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS`)

// checkSignal gives the full name.
func checkSignal(name string) (string, error) {
	short := strings.TrimPrefix(strings.ToUpper(name), "SIG")
	if !slices.Contains(signalNames, short) {
		return "", invalid("signal is %.32q; it must be the name of a signal, as INT, TERM, KILL, HUP, USR1 or WINCH", name)
	}
	return "SIG" + short, nil
}
