package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ListExecs describes a sandbox's background execs, oldest first: those that run,
// and as many of those that have ended as are kept.
func (m *Manager) ListExecs(ctx context.Context, o Owner, id schemas.SandboxID) (_ schemas.ExecList, err error) {
	defer m.observe("exec_list", time.Now(), &err)
	var all []ExecState
	err = m.ask(ctx, o, id, func(ctx context.Context, g Guest) (err error) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		all, err = g.Execs(ctx)
		return err
	})
	if err != nil {
		return schemas.ExecList{}, err
	}
	// Hand-overs at the same time can make them a few more than MaxBackground.
	all = all[:min(len(all), MaxBackground+maxExecs)]
	list := schemas.ExecList{Execs: make([]schemas.ExecInfo, len(all))}
	for i, s := range all {
		list.Execs[i] = execInfo(s)
	}
	return list, nil
}
