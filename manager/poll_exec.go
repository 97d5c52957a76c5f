package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// maxPollWait is how long one poll may wait for news.
const maxPollWait = 60 * time.Second

// PollExec tells how a background exec is doing, with its output since a cursor:
// at most MaxOutputBytes of each stream, cut to the server's own cap. When there
// is none, and the command runs, it waits for some, or for the end. A poll takes
// nothing away from another one.
func (m *Manager) PollExec(ctx context.Context, o Owner, id schemas.SandboxID, exec schemas.ExecID, p schemas.ExecPoll) (_ schemas.ExecState, err error) {
	defer m.observe("exec_poll", time.Now(), &err)
	q, err := m.checkPoll(exec, p)
	if err != nil {
		return schemas.ExecState{}, err
	}
	v, err := m.enter(ctx, o, id)
	if err != nil {
		return schemas.ExecState{}, err
	}
	defer v.leave()
	r, err := v.awaitNews(q)
	if err != nil {
		return schemas.ExecState{}, v.explain(err)
	}
	return execState(r, q.from, q.limit, q.encoding), nil
}

// poll is a checked [schemas.ExecPoll].
type poll struct {
	exec     schemas.ExecID
	from     offsets
	wait     time.Duration
	limit    int64
	encoding schemas.Encoding
}

func (m *Manager) checkPoll(exec schemas.ExecID, p schemas.ExecPoll) (q poll, err error) {
	q.exec = exec
	if err = checkExecID(exec); err != nil {
		return q, err
	}
	if q.from, err = checkExecCursor(p.Cursor); err != nil {
		return q, err
	}
	if q.wait, err = checkWait(p.WaitSeconds, maxPollWait); err != nil {
		return q, err
	}
	if q.encoding, err = checkEncoding(p.Encoding); err != nil {
		return q, err
	}
	q.limit, err = m.outputCap(p.MaxOutputBytes)
	return q, err
}

func checkExecID(id schemas.ExecID) error {
	if err := id.Validate(); err != nil {
		return invalid("exec_id %v", err)
	}
	return nil
}

// awaitNews is the first reading that has something to say, or the last one.
func (v *visit) awaitNews(q poll) (*reading, error) {
	begin := time.Now()
	var held offsets
	for {
		left := max(0, q.wait-time.Since(begin))
		r, err := v.readExec(q.exec, q.from, held, max(q.limit, maxRune), left)
		if err != nil || !r.state.Running || left == 0 || !r.empty() || q.encoding == schemas.EncodingBase64 {
			return r, err
		}
		now := r.held()
		if now.stdout+now.stderr <= held.stdout+held.stderr { // it has been waited for
			return r, nil
		}
		held = now
	}
}
