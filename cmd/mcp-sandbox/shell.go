package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type shellCmd struct {
	Workdir string `short:"w" placeholder:"DIR" help:"Directory to begin in. Default /workspace."`
	Attach  string `short:"a" placeholder:"EXEC" complete:"execs" help:"Go back to a terminal that runs, by the ID that ps has."`

	Sandbox string `arg:"" complete:"sandboxes" help:"ID, beginning of an ID, or name."`
	Command string `arg:"" optional:"" help:"Line for the shell, to run instead of a shell of your own. Default: bash where the image has it, else sh."`

	reach
}

// Help ends the page of --help.
func (*shellCmd) Help() string {
	return `What you type goes to the sandbox, Ctrl-C too, and its window is as large as yours. When it ends, its exit code is this one's; others are as of exec. For example:

    mcp-sandbox shell $id
    mcp-sandbox shell $id top

What runs in a terminal goes on when the connection is lost; standard error then says how to go back to it.`
}

// Run opens a terminal.
func (c *shellCmd) Run(e *env) error { return troubled(c.run(e, c.shell)) }

func (c *shellCmd) shell(ctx context.Context, s *session) error {
	in, out, ok := terminals(s)
	if !ok {
		return client.Invalid("Without one, use mcp-sandbox exec, with -i for input.", "a shell needs a terminal for its input and output")
	}
	id, err := s.Sandbox(ctx, c.Sandbox)
	if err != nil {
		return err
	}
	r := schemas.TerminalRequest{Command: c.Command, Workdir: c.Workdir}
	r.Columns, r.Rows = windowSize(out)
	if c.Attach != "" {
		if r.ExecID, err = s.FindExec(ctx, id, c.Attach); err != nil {
			return err
		}
	} else {
		r.Term, _ = s.lookup("TERM")
	}
	t, err := s.OpenTerminal(ctx, id, r)
	if err != nil {
		return err
	}
	defer t.Close()
	exit, err := s.connectTo(ctx, t, in, out)
	var signal interrupted
	if errors.Is(err, client.ErrLost) || errors.As(err, &signal) {
		back := fmt.Sprintf("What runs there goes on. To go back to it: mcp-sandbox shell -a %s %s", t.ID, id)
		if e := (*client.Error)(nil); errors.As(err, &e) {
			e.Body.Hint = back
		} else {
			fmt.Fprintf(s.stderr, "mcp-sandbox: %s\n", back)
		}
	}
	if err != nil {
		return err
	}
	return codeOf(exit.ExitCode, exit.TimedOut)
}

// connectTo connects the two terminals. This one is what it was when it returns, and
// also when anything in it panics.
func (s *session) connectTo(ctx context.Context, t *client.Terminal, in, out *os.File) (schemas.ExecExit, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return schemas.ExecExit{}, fmt.Errorf("take over the terminal: %w", err)
	}
	restore := func() { _ = term.Restore(int(in.Fd()), before) }
	defer restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	guarded := func(f func()) {
		defer func() {
			if r := recover(); r != nil {
				restore()
				panic(r)
			}
		}()
		f()
	}
	go guarded(func() { typed(ctx, t, in) })
	go guarded(func() {
		onResize(ctx, func() {
			columns, rows := windowSize(out)
			_ = t.Resize(ctx, columns, rows) // a lost connection is found by reading
		})
	})
	return t.Follow(ctx, func(b []byte) error { return s.show(schemas.Stdout, b) })
}

// typed sends what is typed, until there is no more.
func typed(ctx context.Context, t *client.Terminal, in *os.File) {
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 && t.Write(ctx, buf[:n]) != nil || err != nil {
			return
		}
	}
}

// terminals are standard input and output, if they are terminals.
func terminals(s *session) (in, out *os.File, ok bool) {
	in, inOK := s.stdin.(*os.File)
	out, outOK := s.stdout.(*os.File)
	return in, out, inOK && outOK && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// windowSize is that of a terminal, or a usual one where it does not tell.
func windowSize(out *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(out.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		return 80, 24
	}
	return min(columns, 4096), min(rows, 4096)
}
