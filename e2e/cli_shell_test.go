package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a command on a terminal of the test's.
type pty struct {
	t             *testing.T
	master, slave *os.File
	before        unix.Termios
	ended         chan error

	mu   sync.Mutex
	seen string // since it was last asked for
}

// onTerminal starts a command on a terminal of 100 columns and 30 rows.
func (p *person) onTerminal(args ...string) *pty {
	p.t.Helper()
	master, slave, err := openPTY()
	if err != nil {
		p.t.Fatal(err)
	}
	y := &pty{t: p.t, master: master, slave: slave, before: termios(p.t, slave), ended: make(chan error, 1)}
	p.t.Cleanup(func() { master.Close(); slave.Close() })
	y.resize(100, 30)
	cmd := p.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go y.read()
	go func() { y.ended <- cmd.Wait() }()
	return y
}

func openPTY() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	return master, slave, err
}

func termios(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *state
}

func (y *pty) resize(columns, rows uint16) {
	y.t.Helper()
	if err := unix.IoctlSetWinsize(int(y.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		y.t.Fatal(err)
	}
}

func (y *pty) read() {
	buf := make([]byte, 4096)
	for {
		n, err := y.master.Read(buf)
		if err != nil {
			return
		}
		y.mu.Lock()
		y.seen += string(buf[:n])
		y.mu.Unlock()
	}
}

func (y *pty) types(text string) { _, _ = y.master.WriteString(text) }

// shows waits until the terminal shows a text, and forgets all up to that.
func (y *pty) shows(text string) {
	y.t.Helper()
	eventually(y.t, 20*time.Second, "the terminal shows "+text, func() (bool, any) {
		y.mu.Lock()
		defer y.mu.Unlock()
		_, rest, found := strings.Cut(y.seen, text)
		if found {
			y.seen = rest
			return true, nil
		}
		return false, y.seen
	})
}

// ends waits for the end. The terminal must be what it was before.
func (y *pty) ends(code int) {
	y.t.Helper()
	select {
	case err := <-y.ended:
		if got := codeOf(y.t, err); got != code {
			y.t.Errorf("code %d, want %d", got, code)
		}
	case <-time.After(30 * time.Second):
		y.t.Fatal("it does not end")
	}
	if after := termios(y.t, y.slave); after != y.before {
		y.t.Errorf("the terminal is left as %+v; it was %+v", after, y.before)
	}
}

// cliShell: keys, window and exit code go through, in each way to a server.
func cliShell(p *person) {
	id := p.run("create").word()
	defer func() { p.run("rm", id).is(0, "") }()
	y := p.onTerminal("shell", id)
	y.types("stty size; echo be''gun\n")
	y.shows("30 100")
	y.shows("begun")
	y.resize(120, 40)
	// The shell may ask before the news of the new size has arrived.
	y.types("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo res''ized\n")
	y.shows("resized")
	y.types("echo sle''eping; sleep 600\n")
	y.shows("sleeping")
	y.types("\x03")
	y.types("echo still''-there; exit 3\n")
	y.shows("still-there")
	y.ends(3)
	p.run("shell", id).is(125, "") // there is no terminal
}

// TestCLIShellIsLost: who loses a terminal's server is told how to go back.
func TestCLIShellIsLost(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := &person{t, []string{"AGENT_SANDBOX_DATA_DIR=" + s.dir}}
	id := p.run("create").word()
	y := p.onTerminal("shell", id)
	y.types("x=kept; echo be''gun\n")
	y.shows("begun")
	s.Kill()
	y.shows("was lost")
	y.shows("mcp-sandbox shell -a ex_")
	y.ends(125)
	s.up()
	job := p.run("ps", id)
	fields := strings.Fields(job.stdout)
	if len(fields) < 6 {
		t.Fatalf("code %d, %q, %q", job.code, job.stdout, job.stderr)
	}
	back := p.onTerminal("shell", "-a", fields[6], id)
	back.types("echo \"it is $x\"; exit 4\n")
	back.shows("it is kept")
	back.ends(4)
}
