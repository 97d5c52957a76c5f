package dockerbackend

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

const undoLimit = 30 * time.Second

// undo is what takes back the steps done so far. Each is added before its step:
// a step whose outcome is unknown is taken back too.
type undo []func(context.Context)

func (u *undo) add(step func(context.Context)) { *u = append(*u, step) }

// run takes the steps back, the last one first, also when the caller has gone.
func (u undo) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	for i := len(u) - 1; i >= 0; i-- {
		u[i](ctx)
		faults.Point("docker.undone")
	}
}
