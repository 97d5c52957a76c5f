package dockerbackend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// background starts a command that goes on by itself.
func (s *sandbox) background(o manager.Background, argv ...string) schemas.ExecID {
	s.r.Helper()
	o.ID = schemas.NewExecID()
	exit, err := s.Exec(s.r.ctx, manager.Command{
		Argv: argv, Dir: "/workspace", Env: []string{"PATH=/bin", "HOME=/workspace", "TERM=xterm"}, MaxStdout: -1, MaxStderr: -1, Background: &o,
	}, func(schemas.Stream, []byte) error { return nil })
	if err != nil || !exit.Running {
		s.r.Fatalf("start %q: %+v, %v", argv, exit, err)
	}
	return o.ID
}

// waitFor polls until the output has a text.
func (s *sandbox) waitFor(id schemas.ExecID, text string) {
	s.r.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var out bytes.Buffer
		state, err := s.Poll(s.r.ctx, id, manager.PollOptions{MaxBytes: 1 << 20}, func(_ schemas.Stream, chunk []byte) error {
			out.Write(chunk)
			return nil
		})
		if err != nil || time.Now().After(deadline) {
			s.r.Fatalf("no %q in the output: %+v, %q, %v", text, state, out.String(), err)
		}
		if strings.Contains(out.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *sandbox) input(id schemas.ExecID, text string) {
	s.r.Helper()
	if n, err := s.Input(s.r.ctx, id, strings.NewReader(text), false); err != nil || n != int64(len(text)) {
		s.r.Errorf("input: took %d of %d, %v", n, len(text), err)
	}
}

// A shell on a terminal, in a container with nothing but what every sandbox has.
func TestTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	box := r.create(spec(busybox))
	id := box.background(manager.Background{Terminal: &manager.WindowSize{Columns: 100, Rows: 30}}, "sh", "-i")
	box.input(id, "test -t 0 && test -t 1 && test -t 2 && echo is a $((2-1)) terminal\n")
	box.waitFor(id, "is a 1 terminal")
	box.input(id, "echo > /dev/tty from $((1+1))\n")
	box.waitFor(id, "from 2")
	if err := box.Resize(r.ctx, id, manager.WindowSize{Columns: 200, Rows: 50}); err != nil {
		t.Errorf("resize: %v", err)
	}
	box.input(id, "sleep 100; echo got $?\n")
	box.waitFor(id, "sleep 100; echo got $?\r\n")
	time.Sleep(200 * time.Millisecond) // for the shell to start it; if it has not, the line is dropped, and typed again
	box.input(id, "\x03")
	box.input(id, "echo still $((2+1)) here\n")
	box.waitFor(id, "still 3 here")
	all, err := box.Execs(r.ctx)
	if err != nil || len(all) != 1 || !all[0].Terminal || !all[0].Running {
		t.Errorf("execs: %+v, %v", all, err)
	}
	box.input(id, "exit 7\n")
	state, err := box.Poll(r.ctx, id, manager.PollOptions{Follow: true}, func(schemas.Stream, []byte) error { return nil })
	if err != nil || state.Exit.Code != 7 || state.Running {
		t.Errorf("got %+v, %v", state, err)
	}
}

// As many as there may be, each with two that wait for it and an input that it
// does not read, hold up nothing else.
func TestBackgroundBesideEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := spec(busybox)
	s.PidsLimit, s.MemoryMB = 128, 128
	box := r.create(s)
	ended := make(chan error, 100)
	waiting := 0
	wait := func(call func() error) {
		waiting++
		go func() { ended <- call() }()
	}
	var ids []schemas.ExecID
	for range manager.MaxBackground {
		id := box.background(manager.Background{Input: true}, "sleep", "100")
		ids = append(ids, id)
		for _, follow := range []bool{true, false} {
			wait(func() error { return box.pollToTheEnd(id, follow) })
		}
		wait(func() error {
			_, err := box.Input(r.ctx, id, zeros{}, false)
			if manager.KindOf(err) != manager.KindConflict {
				return fmt.Errorf("input: %w", err)
			}
			return nil
		})
	}
	ctx, cancel := context.WithCancel(r.ctx)
	for range 4 {
		wait(func() error {
			_, err := box.Exec(ctx, manager.Command{
				Argv: []string{"sleep", "100"}, Dir: "/workspace", Env: []string{"PATH=/bin"}, Stdin: zeros{}, MaxStdout: -1, MaxStderr: -1,
			}, func(schemas.Stream, []byte) error { return nil })
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("exec: %w", err)
			}
			return nil
		})
	}
	for range 5 {
		if out := box.sh("echo ok"); out != "ok\n" {
			t.Errorf("got %q", out)
		}
		if _, err := box.Write(r.ctx, "/workspace/f", manager.WriteOptions{MaxBytes: 1 << 22}, bytes.NewReader(make([]byte, 1<<21))); err != nil {
			t.Errorf("write: %v", err)
		}
	}
	cancel()
	for _, id := range ids {
		if err := box.Kill(r.ctx, id); err != nil {
			t.Errorf("kill: %v", err)
		}
	}
	for range waiting {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func (s *sandbox) pollToTheEnd(id schemas.ExecID, follow bool) error {
	state, err := s.Poll(s.r.ctx, id, manager.PollOptions{Follow: follow, Wait: time.Hour, MaxBytes: 1}, func(schemas.Stream, []byte) error { return nil })
	if err != nil || state.Running || state.Exit.Code != 137 {
		return fmt.Errorf("poll: %+v, %w", state, err)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A guest from before background execs refuses them in words that help.
func TestOlderGuest(t *testing.T) {
	err := guestError(&protocol.Error{Code: protocol.ErrUnknownCall, Message: "the sandbox was started by an older release, which cannot do this"})
	if e := manager.Public(err); e.Code != schemas.CodeConflict || !strings.Contains(e.Hint, "Roll the sandbox back") {
		t.Errorf("got %+v", e)
	}
}
