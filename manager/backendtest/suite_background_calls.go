package backendtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// cursor is how far a poller has read.
type cursor struct{ stdout, stderr int64 }

func (c cursor) options(wait time.Duration) manager.PollOptions {
	return manager.PollOptions{Stdout: c.stdout, Stderr: c.stderr, MaxBytes: 64 << 10, Wait: wait}
}

func (c cursor) after(s manager.ExecState, out output) cursor {
	return cursor{s.Stdout + int64(len(out.stdout)), s.Stderr + int64(len(out.stderr))}
}

// inBackground makes c one that may be handed over.
func inBackground(c manager.Command, wait time.Duration) (manager.Command, schemas.ExecID) {
	id := schemas.NewExecID()
	c.Background = &manager.Background{ID: id, Wait: wait}
	return c, id
}

// start starts a command that goes on by itself at once.
func (e *env) start(b *box, c manager.Command) schemas.ExecID {
	e.Helper()
	return e.startAfter(b, c, 0)
}

func (e *env) startAfter(b *box, c manager.Command, wait time.Duration) schemas.ExecID {
	e.Helper()
	c, id := inBackground(c, wait)
	e.handedOver(b, c)
	return id
}

func (e *env) startWithInput(b *box, c manager.Command) schemas.ExecID {
	e.Helper()
	c, id := inBackground(c, 0)
	c.Background.Input = true
	e.handedOver(b, c)
	return id
}

func (e *env) handedOver(b *box, c manager.Command) {
	e.Helper()
	e.promptly("start", func() {
		if out := e.must(b, c); !out.Running || out.stdout != "" || out.StdoutBytes != 0 {
			e.Fatalf("start %q: %+v", c.Argv, out)
		}
	})
}

func (e *env) poll(b *box, id schemas.ExecID, o manager.PollOptions) (manager.ExecState, output) {
	e.Helper()
	var out output
	s, err := b.Poll(e.ctx, id, o, func(s schemas.Stream, chunk []byte) error {
		if s == schemas.Stdout {
			out.stdout += string(chunk)
		} else {
			out.stderr += string(chunk)
		}
		return nil
	})
	if err != nil || s.ID != id {
		e.Fatalf("poll %s: %+v, %v", id, s, err)
	}
	out.Exit = s.Exit
	return s, out
}

// collect polls from what is kept on to the end.
func (e *env) collect(b *box, id schemas.ExecID) (all output) {
	e.Helper()
	var at cursor
	for {
		s, out := e.poll(b, id, at.options(prompt))
		all.stdout, all.stderr, all.Exit = all.stdout+out.stdout, all.stderr+out.stderr, out.Exit
		at = at.after(s, out)
		if !s.Running && at == (cursor{s.Exit.StdoutBytes, s.Exit.StderrBytes}) {
			return all
		}
	}
}

func (e *env) input(b *box, id schemas.ExecID, text string, end bool) {
	e.Helper()
	taken, err := b.Input(e.ctx, id, strings.NewReader(text), end)
	if err != nil || taken != int64(len(text)) {
		e.Errorf("input: took %d of %d, %v", taken, len(text), err)
	}
}

func (e *env) signal(b *box, id schemas.ExecID, name string) {
	e.Helper()
	if err := b.Signal(e.ctx, id, name); err != nil {
		e.Errorf("%s: %v", name, err)
	}
}

func (e *env) kill(b *box, id schemas.ExecID) {
	e.Helper()
	if err := b.Kill(e.ctx, id); err != nil {
		e.Errorf("kill: %v", err)
	}
}

// wantExecs checks which are listed.
func (e *env) wantExecs(b *box, ids ...schemas.ExecID) []manager.ExecState {
	e.Helper()
	all, err := b.Execs(e.ctx)
	if err != nil {
		e.Fatalf("execs: %v", err)
	}
	var got []schemas.ExecID
	for _, s := range all {
		got = append(got, s.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(ids) {
		e.Fatalf("execs are %v, want %v", got, ids)
	}
	return all
}

// failing is a reader that ends in an error.
type failing struct {
	r   *strings.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.r.Len() == 0 {
		return 0, f.err
	}
	return f.r.Read(p)
}

func upTo(d time.Duration) time.Duration { return rand.N(d) }
