package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// answerTime is how long a guest may take for an answer that needs no waiting.
const answerTime = 10 * time.Second

// reading is what one look at a background exec has brought.
type reading struct {
	state          ExecState
	stdout, stderr excerpt
}

func (r *reading) of(s schemas.Stream) *excerpt {
	if s == schemas.Stderr {
		return &r.stderr
	}
	return &r.stdout
}

// empty: there was nothing but, maybe, the beginning of a character.
func (r *reading) empty() bool {
	return len(r.stdout.raw) == r.stdout.held() && len(r.stderr.raw) == r.stderr.held()
}

// passed is where to go on behind all that there is, but for the beginning of a
// character.
func (r *reading) passed(e schemas.Encoding) offsets {
	o := offsets{r.stdout.total, r.stderr.total}
	if e == schemas.EncodingUTF8 {
		o.stdout -= int64(r.stdout.heldAtEnd())
		o.stderr -= int64(r.stderr.heldAtEnd())
	}
	return o
}

// held are the bytes to wait beyond when a reading was empty.
func (r *reading) held() offsets {
	return offsets{int64(r.stdout.held()), int64(r.stderr.held())}
}

// readExec reads at most so many bytes of each stream from at on. When there are
// no more than the held ones it waits for more, or for the end.
func (v *visit) readExec(id schemas.ExecID, at, held offsets, most int64, wait time.Duration) (*reading, error) {
	if held != (offsets{}) && wait > 0 {
		beyond := offsets{at.stdout + held.stdout, at.stderr + held.stderr}
		if _, err := v.pollExec(id, beyond, 1, wait); err != nil {
			return nil, err
		}
		wait = 0
	}
	return v.pollExec(id, at, most, wait)
}

func (v *visit) pollExec(id schemas.ExecID, at offsets, most int64, wait time.Duration) (*reading, error) {
	var s ExecState
	var out *output
	begin := time.Now()
	err := v.twice(func(ctx context.Context, g Guest) (err error) {
		wait := max(0, wait-time.Since(begin))
		ctx, cancel := context.WithTimeout(ctx, wait+answerTime)
		defer cancel()
		out = newOutput(most)
		s, err = g.Poll(ctx, id, PollOptions{Stdout: at.stdout, Stderr: at.stderr, MaxBytes: most, Wait: wait}, out.emit)
		return err
	})
	if isKind(err, KindInvalid) {
		return nil, badExecCursor(at.cursor())
	}
	if err != nil {
		return nil, execError(id, err)
	}
	s.ID = id
	return &reading{
		s,
		newExcerpt(max(at.stdout, sane(s.Stdout)), out.stdout, s.Exit.StdoutBytes, !s.Running),
		newExcerpt(max(at.stderr, sane(s.Stderr)), out.stderr, s.Exit.StderrBytes, !s.Running),
	}, nil
}

// execError words what goes wrong with one background exec.
func execError(id schemas.ExecID, err error) error {
	if !isKind(err, KindNotFound) {
		return err
	}
	return &Error{
		Kind: KindNotFound, Message: fmt.Sprintf("no background exec %s in this sandbox", id), Cause: err,
		Hint: fmt.Sprintf("Background execs end when the sandbox's container restarts and with a rollback, and only the last %d are kept, those that run before those that have ended. List the sandbox's background execs to see which there are.", MaxBackground),
	}
}
