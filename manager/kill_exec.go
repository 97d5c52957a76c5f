package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// KillExec ends a background exec with all it has started, as a timeout does,
// and returns when that is done. It is safe to repeat; its output stays.
func (m *Manager) KillExec(ctx context.Context, o Owner, id schemas.SandboxID, exec schemas.ExecID) (err error) {
	defer m.observe("exec_kill", time.Now(), &err)
	if err := checkExecID(exec); err != nil {
		return err
	}
	return m.ask(ctx, o, id, func(ctx context.Context, g Guest) error {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		return execError(exec, g.Kill(ctx, exec))
	})
}
