package manager

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// inputTime is how long a command is given to take its input.
const inputTime = 10 * time.Second

// InputExec writes to a background exec's standard input, and then ends it when
// end is set. A command that has ended, or whose input has, or that does not read
// in time is a conflict that tells how many bytes were taken.
func (m *Manager) InputExec(ctx context.Context, o Owner, id schemas.SandboxID, exec schemas.ExecID, data []byte, end bool) (err error) {
	defer m.observe("exec_input", time.Now(), &err)
	if err := checkExecID(exec); err != nil {
		return err
	}
	if len(data) == 0 && !end {
		return invalid("the input is empty, and is not to be ended either; there is nothing to do")
	}
	return m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		limited, cancel := context.WithTimeout(ctx, inputTime)
		defer cancel()
		taken, err := g.Input(limited, exec, bytes.NewReader(data), end)
		taken = min(max(taken, 0), int64(len(data)))
		switch {
		case err == nil:
			return nil
		case isKind(err, KindConflict):
			return notTaken("the command has ended, or its standard input has", taken, len(data), err).
				hint("Poll it to see whether it has ended. Only a command started with background, and without standard input of its own, keeps its input open.")
		case limited.Err() != nil && ctx.Err() == nil:
			e := notTaken("the command does not read its standard input now", taken, len(data), err).
				hint("Poll it to see what it is doing, and send the rest once it reads again.")
			e.Retryable = taken == 0
			return e
		}
		return execError(exec, err)
	})
}

func notTaken(why string, taken int64, of int, cause error) *Error {
	return &Error{Kind: KindConflict, Message: fmt.Sprintf("%s; %d of %d bytes were taken", why, taken, of), Cause: cause}
}
