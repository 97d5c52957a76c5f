package manager

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	// screenful is how much of a terminal's last output one who comes back gets.
	screenful = 16 << 10
	// defaultTerm is what nearly every terminal program understands.
	defaultTerm = "xterm-256color"
	// maxTerm bounds the name of a terminal type.
	maxTerm = 64
)

// loginShell is the best shell that an image has.
const loginShell = `if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh -i`

// Terminal is one caller's view of a command on a terminal. The command is a
// background exec: it goes on when its callers have left, several may look at it
// at a time, and it ends like every other. Methods may be called at once.
type Terminal struct {
	m  *Manager
	v  *visit
	id schemas.ExecID

	mu    sync.Mutex
	guest Guest // the current connection

	// Of Follow:
	next int64 // offset of the output that comes next
	came bool  // some output, so that what comes next goes on from there
}

// OpenTerminal starts a command on a terminal, or goes back to one that runs or
// has lately ended. Who gets a Terminal must close it. A sandbox that is rolled
// back, destroyed or expires ends it with the same errors as an exec.
func (m *Manager) OpenTerminal(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.TerminalRequest) (_ *Terminal, err error) {
	defer m.observe("terminal", time.Now(), &err)
	if err := checkWindow(req.Columns, req.Rows); err != nil {
		return nil, err
	}
	exec, fresh := req.ExecID, req.ExecID == ""
	if fresh {
		exec, err = m.startTerminal(ctx, o, id, req)
	} else {
		err = checkExecID(exec)
	}
	if err != nil {
		return nil, err
	}
	v, err := m.enter(ctx, o, id)
	if err != nil {
		return nil, err
	}
	if err := v.s.beginExec(); err != nil {
		v.leave()
		return nil, err
	}
	t := &Terminal{m: m, v: v, id: exec, guest: v.guest}
	if !fresh {
		if err := t.comeBack(req.Columns, req.Rows); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// comeBack is to a terminal that runs, or has ended and takes no size any more.
func (t *Terminal) comeBack(columns, rows int) error {
	s, err := t.seek(-screenful)
	if err != nil {
		return t.explain(err)
	}
	if !s.Terminal {
		return invalid("exec_id is %s, a background exec that runs in no terminal", t.id).
			hint("Poll it for its output, and write to its standard input.")
	}
	if err := t.Resize(columns, rows); err != nil && !isKind(err, KindConflict) {
		return err
	}
	return nil
}

// seek goes to an offset, or from the end if it is negative, or to where what is
// still there begins.
func (t *Terminal) seek(to int64) (ExecState, error) {
	s, err := t.current().Poll(t.v.ctx, t.id, PollOptions{Stdout: to, MaxBytes: 1}, func(schemas.Stream, []byte) error { return nil })
	if err == nil {
		t.next = sane(s.Stdout)
	}
	return s, err
}

func (m *Manager) startTerminal(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.TerminalRequest) (schemas.ExecID, error) {
	command := req.Command
	if command == "" {
		command = loginShell
	}
	term := req.Term
	if term == "" {
		term = defaultTerm
	}
	if len(term) > maxTerm {
		return "", invalid("term has %d bytes; allowed are at most %d", len(term), maxTerm)
	}
	asked := schemas.ExecRequest{Command: schemas.Command{Shell: command}, Workdir: req.Workdir, Env: map[string]string{"TERM": term}, Background: true}
	c, err := m.checkExec(asked)
	if err != nil {
		return "", err
	}
	c.Background.Terminal = &WindowSize{Columns: uint16(req.Columns), Rows: uint16(req.Rows)}
	_, err = m.exec(ctx, o, id, c, asked.Env, func(schemas.Stream, []byte) error { return nil })
	return c.Background.ID, err
}

func checkWindow(columns, rows int) error {
	for name, n := range map[string]int{"columns": columns, "rows": rows} {
		if n < 1 || n > 4096 {
			return invalid("%s is %d; allowed is 1 to 4096", name, n)
		}
	}
	return nil
}

// ID names the command, for coming back.
func (t *Terminal) ID() schemas.ExecID { return t.id }

// Follow hands over what the terminal shows until its command has ended. emit may
// block, which holds the command up and loses nothing: who has started the command
// gets all of it, who comes back all from some lines before on. It is called once.
func (t *Terminal) Follow(emit func([]byte) error) (schemas.ExecExit, error) {
	for tries := 0; ; tries++ {
		s, err := t.follow(func(chunk []byte) error {
			tries = 0
			return emit(chunk)
		})
		if err == nil {
			return exitOf(s.Exit), nil
		}
		// A connection that is lost is made again; what came is not asked for twice.
		if !isKind(err, KindLost) || t.v.ctx.Err() != nil || tries > 1 {
			return schemas.ExecExit{}, t.explain(err)
		}
		err = t.reconnect()
		if err == nil {
			_, err = t.seek(t.next) // nobody has held the command up meanwhile
		}
		if err != nil && !isKind(err, KindLost) {
			return schemas.ExecExit{}, t.explain(err)
		}
	}
}

func (t *Terminal) follow(emit func([]byte) error) (ExecState, error) {
	return t.current().Poll(t.v.ctx, t.id, PollOptions{Stdout: t.next, Follow: true}, func(_ schemas.Stream, chunk []byte) error {
		whole := chunk
		if t.next > 0 && !t.came {
			whole = wholeLines(chunk)
		}
		t.next += int64(len(chunk))
		t.came = true
		return emit(whole)
	})
}

// wholeLines leaves out what may be the rest of a character, or of an escape
// sequence, that began before.
func wholeLines(chunk []byte) []byte {
	return chunk[bytes.IndexByte(chunk, '\n')+1:]
}

// Write types. It waits until the terminal takes all of p.
func (t *Terminal) Write(p []byte) (int, error) {
	n, err := t.current().Input(t.v.ctx, t.id, bytes.NewReader(p), false)
	return int(min(max(n, 0), int64(len(p)))), t.explain(err)
}

// Resize tells the terminal its size.
func (t *Terminal) Resize(columns, rows int) error {
	if err := checkWindow(columns, rows); err != nil {
		return err
	}
	return t.explain(t.current().Resize(t.v.ctx, t.id, WindowSize{Columns: uint16(columns), Rows: uint16(rows)}))
}

// Close leaves; the command goes on.
func (t *Terminal) Close() {
	t.v.s.endExec()
	t.v.leave()
}

func (t *Terminal) current() Guest {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.guest
}

func (t *Terminal) reconnect() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.v.connect(); err != nil {
		return err
	}
	t.guest = t.v.guest
	return nil
}

func (t *Terminal) explain(err error) error {
	if err == nil || isKind(err, KindInvalid) && KindOf(err) == KindInvalid {
		return err
	}
	return t.v.explain(execError(t.id, err))
}

var _ io.Writer = (*Terminal)(nil)
