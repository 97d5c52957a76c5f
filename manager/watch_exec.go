package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	// watchBytes is how much of each stream one look takes: all that a guest keeps.
	watchBytes = 1 << 20
	// watchPause is between two looks at a command that goes on writing.
	watchPause = 50 * time.Millisecond
)

// WatchExec follows a background exec from a cursor on until it has ended or the
// time to wait has passed; when quiet is not 0, also until something came and
// then nothing for that long. emit gets raw output, and how many bytes of the
// stream were dropped just before it. The state returned has no output and goes on
// where emit ended.
func (m *Manager) WatchExec(ctx context.Context, o Owner, id schemas.SandboxID, exec schemas.ExecID, p schemas.ExecPoll, quiet time.Duration,
	emit func(s schemas.Stream, skipped int64, chunk []byte)) (_ schemas.ExecState, err error) {
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
	w := &watch{v: v, q: q, at: q.from, emit: emit}
	r, err := w.follow(quiet)
	if err != nil {
		return schemas.ExecState{}, v.explain(err)
	}
	s := execState(r, w.at, 0, q.encoding)
	s.Cursor, s.StdoutDroppedBytes, s.StderrDroppedBytes = w.at.cursor(), w.dropped.stdout, w.dropped.stderr
	s.DroppedBytes = w.dropped.stdout + w.dropped.stderr
	return s, nil
}

// watch is one call of WatchExec.
type watch struct {
	v           *visit
	q           poll
	at, dropped offsets
	skipped     offsets // dropped, and not yet told
	held        offsets
	emit        func(s schemas.Stream, skipped int64, chunk []byte)
}

func (w *watch) follow(quiet time.Duration) (*reading, error) {
	begin, heard := time.Now(), false
	for {
		left := max(0, w.q.wait-time.Since(begin))
		wait := left
		if heard && quiet > 0 {
			wait = min(left, quiet)
		}
		r, err := w.v.readExec(w.q.exec, w.at, w.held, watchBytes, wait)
		if err != nil {
			return nil, err
		}
		news := w.take(r)
		heard = heard || news
		caughtUp := r.stdout.complete() && r.stderr.complete()
		switch {
		case left == 0, !r.state.Running && caughtUp, !news && quiet > 0 && heard:
			return r, nil
		case !news || caughtUp:
			if err := pause(w.v.ctx, min(left, watchPause)); err != nil {
				return nil, err
			}
		}
	}
}

// take hands a reading on, but for the beginning of a character, and tells
// whether there was anything.
func (w *watch) take(r *reading) (news bool) {
	for _, s := range []schemas.Stream{schemas.Stdout, schemas.Stderr} {
		e, held := r.of(s), 0
		if w.q.encoding == schemas.EncodingUTF8 {
			held = e.held()
		}
		at := w.at.of(s)
		*w.dropped.of(s) += e.start - *at
		*w.skipped.of(s) += e.start - *at
		chunk := e.raw[:len(e.raw)-held]
		if len(chunk) > 0 {
			w.emit(s, *w.skipped.of(s), chunk)
			*w.skipped.of(s), news = 0, true
		}
		*at, *w.held.of(s) = e.start+int64(len(chunk)), int64(held)
	}
	return news
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
