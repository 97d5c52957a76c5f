//go:build linux

package guest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// waitFor polls from the beginning until the output has the text.
func (m *machine) waitFor(c *client.Client, id, text string) (all string) {
	m.t.Helper()
	eventually(m.t, 20*time.Second, fmt.Sprintf("output with %q", text), func() (any, bool) {
		_, o := m.poll(c, protocol.PollParams{ID: id, MaxBytes: -1})
		all = o.stdout
		return short(all), strings.Contains(all, text)
	})
	return all
}

// A terminal is one, of the size that was asked for from the first moment on, and
// the command's controlling one; all output is standard output.
func TestTerminal(t *testing.T) {
	m, c := newGuest(t)
	id := m.background(c, command{sh: `test -t 0 && test -t 1 && test -t 2 && stty size; echo out; echo err >&2; echo tty > /dev/tty; stty -a | grep -o iutf8; exit 3`}, onTerminal(132, 43))
	o := m.follow(c, id)
	o.expect(t, 3, "43 132\r\nout\r\nerr\r\ntty\r\niutf8\r\n", "")
	if state, _ := m.poll(c, protocol.PollParams{ID: id}); !state.Terminal || state.Result.StderrBytes != 0 {
		t.Errorf("got %+v", state)
	}
	for _, size := range []protocol.WindowSize{{}, {Columns: 80}, {Columns: 5000, Rows: 24}} {
		_, err := c.Start(t.Context(), protocol.StartParams{ExecParams: m.params(command{sh: "true"}), ID: newExecID(), Terminal: &size}, nil, nil)
		if !hasCode(err, protocol.ErrInvalid) {
			t.Errorf("size %v: got %v", size, err)
		}
	}
}

// What a command writes last is delivered, on a terminal too.
func TestTerminalTail(t *testing.T) {
	m, c := newGuest(t)
	repeat(200, func() {
		id := m.background(c, command{sh: "i=0; while [ $i -lt 300 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; printf tail"}, onTerminal(80, 24))
		if o := m.follow(c, id); len(o.stdout) != 300*42+4 || !strings.HasSuffix(o.stdout, "\ntail") {
			t.Errorf("got %d bytes, the last are %q", len(o.stdout), o.stdout[max(0, len(o.stdout)-10):])
		}
	})
}

// Who starts a command and then follows it gets all of its output, though it has
// written more than is kept before he comes. If nobody comes it goes on.
func TestTerminalOutputIsHeldForItsFirst(t *testing.T) {
	t.Parallel()
	m, c := newGuest(t)
	const line, size = "seq 1000000 1999999", 9_000_000 // 9 bytes a line
	id := m.background(c, command{sh: line}, onTerminal(80, 24))
	time.Sleep(300 * time.Millisecond) // in which it could write all
	if o := m.follow(c, id); len(o.stdout) != size {
		t.Errorf("got %d bytes, want all %d", len(o.stdout), size)
	}
	id = m.background(c, command{sh: line + "; sleep 100"}, onTerminal(80, 24))
	time.Sleep(300 * time.Millisecond)
	check(t, c.Kill(t.Context(), protocol.KillParams{ID: id}))
	eventually(t, firstFollow-2*time.Second, "the end of one that is killed before", func() (any, bool) {
		state, _ := m.poll(c, protocol.PollParams{ID: id})
		return state, !state.Result.Running
	})
	id = m.background(c, command{sh: line}, onTerminal(80, 24))
	eventually(t, firstFollow+20*time.Second, "the end of one that nobody follows", func() (any, bool) {
		state, _ := m.poll(c, protocol.PollParams{ID: id})
		return state, !state.Result.Running && state.Result.StdoutBytes == size
	})
}

// A resize reaches the foreground, and however many come, the last one counts.
func TestTerminalResize(t *testing.T) {
	m, c := newGuest(t)
	id := m.background(c, command{argv: []string{"bash", "-c", `trap 'echo winch' WINCH; echo ready; while :; do stty size > now; mv now size; sleep 0.01; done`}}, onTerminal(80, 24))
	m.waitFor(c, id, "ready")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 100 {
				size := protocol.WindowSize{Columns: uint16(n + 1), Rows: uint16(i + 1)}
				if err := c.Resize(t.Context(), protocol.ResizeParams{ID: id, Size: size}); err != nil {
					t.Errorf("resize: %v", err)
				}
			}
		})
	}
	all.Wait()
	check(t, c.Resize(t.Context(), protocol.ResizeParams{ID: id, Size: protocol.WindowSize{Columns: 4096, Rows: 99}}))
	eventually(t, 10*time.Second, "size", func() (any, bool) {
		now, _ := os.ReadFile(m.file("size"))
		return string(now), string(now) == "99 4096\n"
	})
	_, before := m.poll(c, protocol.PollParams{ID: id, MaxBytes: -1})
	if !strings.Contains(before.stdout, "winch") {
		t.Errorf("the program was not told: %q", short(before.stdout))
	}
	if err := c.Resize(t.Context(), protocol.ResizeParams{ID: id}); !hasCode(err, protocol.ErrInvalid) {
		t.Errorf("no size: %v", err)
	}
	m.killJob(c, id)
	if err := c.Resize(t.Context(), protocol.ResizeParams{ID: id, Size: protocol.WindowSize{Columns: 1, Rows: 1}}); !hasCode(err, protocol.ErrConflict) {
		t.Errorf("after the end: %v", err)
	}
	m.nothingLeft()
}

// A megabyte typed at once arrives whole, also in a program that reads slowly.
func TestTerminalPaste(t *testing.T) {
	m, c := newGuest(t)
	data := bytes.Repeat([]byte("0123456789abcdef\n"), 1<<20/17)
	for name, script := range map[string]string{
		"lines": "stty -echo; echo ready; cat > got; echo done",
		"keys":  "stty raw -echo; echo ready; sleep 0.3; head -c %d > got; echo done",
	} {
		t.Run(name, func(t *testing.T) {
			if name == "keys" {
				script = fmt.Sprintf(script, len(data))
			}
			id := m.background(c, command{sh: script}, onTerminal(80, 24))
			m.waitFor(c, id, "ready")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			taken, err := c.Input(ctx, id, bytes.NewReader(data), true)
			if err != nil || taken != int64(len(data)) {
				t.Fatalf("took %d of %d, %v", taken, len(data), err)
			}
			m.waitFor(c, id, "done")
			if got := m.sh(c, "cat got").stdout; got != string(data) {
				t.Errorf("got %d of %d bytes, or others", len(got), len(data))
			}
		})
	}
}

// Characters typed in pieces stay whole, and the end of input ends a line that
// has not been ended, and then the input.
func TestTerminalInput(t *testing.T) {
	m, c := newGuest(t)
	id := m.background(c, command{sh: "stty -echo; echo ready; cat; echo over"}, onTerminal(80, 24))
	m.waitFor(c, id, "ready")
	for _, b := range []byte("grün 😀\n") {
		m.input(c, id, string([]byte{b}), false)
	}
	m.waitFor(c, id, "grün 😀\r\n")
	m.input(c, id, "no newline", true)
	if o := m.follow(c, id); o.stdout != "ready\r\ngrün 😀\r\nno newlineover\r\n" || o.ExitCode != 0 {
		t.Errorf("got %q", o.stdout)
	}
	if _, err := c.Input(t.Context(), id, strings.NewReader("x"), false); !hasCode(err, protocol.ErrConflict) {
		t.Errorf("after the end: %v", err)
	}
}

// An input that comes with the start is typed, with its end.
func TestTerminalStdin(t *testing.T) {
	m, c := newGuest(t)
	id := m.background(c, command{sh: "stty -echo; cat", stdin: strings.NewReader("a\nb")}, onTerminal(80, 24))
	if o := m.follow(c, id); !strings.HasSuffix(o.stdout, "a\r\nb") || o.ExitCode != 0 {
		t.Errorf("got %q", o.stdout)
	}
}

// A signal reaches the job in the foreground of a shell, and so does the key; the
// shell stays.
func TestTerminalForeground(t *testing.T) {
	m, c := newGuest(t)
	id := m.background(c, command{argv: []string{"bash", "--norc", "-i"}, env: []string{"PS1=>", "TERM=xterm"}}, onTerminal(80, 24))
	m.waitFor(c, id, ">")
	interrupt := func(name string, do func()) {
		m.input(c, id, "echo start-"+name+"; sleep 100; echo status $?-"+name+"\n", false)
		m.waitFor(c, id, "start-"+name+"\r\n")
		eventually(t, 10*time.Second, "sleep in the foreground", func() (any, bool) {
			left := m.children()
			return left, strings.Contains(strings.Join(left, ";"), "sleep 100")
		})
		do()
	}
	interrupt("key", func() { m.input(c, id, "\x03", false) })
	m.waitFor(c, id, "^C")
	m.input(c, id, "echo again=$?\n", false)
	m.waitFor(c, id, "again=130")
	interrupt("signal", func() {
		check(t, c.Signal(t.Context(), protocol.SignalParams{ID: id, Signal: "SIGTERM"}))
	})
	m.waitFor(c, id, "status 143-signal")
	m.input(c, id, "exit 5\n", false)
	if o := m.follow(c, id); o.ExitCode != 5 {
		t.Errorf("got %+v", o.ExecResult)
	}
}

// What is left on a terminal when its command ends is hung up, as on any.
func TestTerminalHangUp(t *testing.T) {
	m, c := newGuest(t)
	id := m.background(c, command{argv: []string{"bash", "-c", "sleep 100 & setsid -f sleep 200; echo $!; exit"}}, onTerminal(80, 24))
	m.follow(c, id)
	m.killJob(c, id)
	m.nothingLeft()
	id = m.background(c, command{sh: "trap '' HUP INT; while :; do sleep 1; done"}, onTerminal(80, 24))
	m.killJob(c, id)
	if o := m.follow(c, id); o.ExitCode != 137 || o.Signal != "SIGKILL" {
		t.Errorf("got %+v", o.ExecResult)
	}
	m.nothingLeft()
}
