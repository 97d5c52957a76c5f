//go:build linux

package guest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// The test binary runs itself as the guest. As root it does so in a process
// namespace of its own, as user 1000, so that the guest is PID 1 as it is in a
// container; otherwise as a plain child.
const (
	guestVariable  = "GUEST_TEST_WORKSPACE"
	initVariable   = "GUEST_TEST_INIT"    // mount /proc and become user 1000 first
	noMarkVariable = "GUEST_TEST_NO_MARK" // as under gVisor
	testUser       = 1000
)

func TestMain(m *testing.M) {
	if workspace := os.Getenv(guestVariable); workspace != "" {
		runGuest(workspace)
	}
	os.Exit(m.Run())
}

func runGuest(workspace string) {
	if os.Getenv(initVariable) != "" {
		becomeSandboxUser()
	}
	os.Unsetenv(initVariable)
	g, err := start(workspace)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start guest:", err)
		os.Exit(protocol.ExitSetup)
	}
	if os.Getenv(noMarkVariable) != "" {
		g.marks.usable = false
	}
	g.pump()
	os.Exit(protocol.ExitInput)
}

// becomeSandboxUser runs in the new namespaces and executes this binary again,
// since a change of user makes a process non-dumpable until its next exec.
func becomeSandboxUser() {
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(unix.Mount("proc", "/proc", "proc", 0, ""))
	must(syscall.Setgroups(nil))
	must(syscall.Setgid(testUser))
	must(syscall.Setuid(testUser))
	os.Unsetenv(initVariable)
	must(unix.Exec("/proc/self/exe", os.Args, os.Environ()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// machine is a running guest and what a server would hold of it.
type machine struct {
	t         testing.TB
	cmd       *exec.Cmd
	key       protocol.Key
	workspace string
	in        *os.File // the guest's standard input
	out       *os.File
	isolated  bool
	container string // for tests with Docker
	exited    chan struct{}
	wires     []*wire
	stopping  sync.Once
}

func startMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{t: t, workspace: sandboxDir(t), isolated: os.Getuid() == 0, exited: make(chan struct{})}
	rand.Read(m.key[:])
	m.key[len(m.key)-1] = ^m.key[0] // else one shifted by all but a byte would be the same
	stdin, in, err := os.Pipe()
	check(t, err)
	out, stdout, err := os.Pipe()
	check(t, err)
	m.in, m.out = in, out

	m.cmd = exec.Command("/proc/self/exe", "-test.run=^$")
	m.cmd.Env = append(os.Environ(), guestVariable+"="+m.workspace)
	m.cmd.Stdin, m.cmd.Stdout, m.cmd.Stderr = stdin, stdout, os.Stderr
	if m.isolated {
		m.cmd.Env = append(m.cmd.Env, initVariable+"=1")
		m.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	}
	check(t, m.cmd.Start())
	stdin.Close()
	stdout.Close()
	go func() {
		m.cmd.Wait()
		close(m.exited)
	}()
	t.Cleanup(m.stop)
	return m
}

// sandboxDir is a directory that the sandbox user owns and can reach.
func sandboxDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/tmp", "guest-test-")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	if os.Getuid() == 0 {
		check(t, os.Chown(dir, testUser, testUser))
	}
	return dir
}

func (m *machine) stop() { m.stopping.Do(m.end) }

func (m *machine) end() {
	// A starved runtime makes a few more than it needs. A container has room for
	// twenty beside what its commands may have.
	if n := m.threads(); n > threadBudget+4 && !raceEnabled {
		m.t.Errorf("the guest has %d threads, far more than the %d it may need", n, threadBudget)
	}
	for _, w := range m.wires {
		w.Close()
	}
	m.in.Close()
	select {
	case <-m.exited:
	case <-time.After(5 * time.Second):
		m.t.Error("the guest did not exit when its input ended")
		m.cmd.Process.Kill()
	}
	m.out.Close()
}

// wire is one attachment to the machine: closing it leaves the guest's streams
// open, as detaching from a container does.
type wire struct {
	in     *os.File
	out    *os.File
	closed chan struct{}
	once   sync.Once
}

// attach duplicates the streams, so that closing one wire breaks off its own
// reads and writes only.
func (m *machine) attach() *wire {
	w := &wire{in: dup(m.t, m.in), out: dup(m.t, m.out), closed: make(chan struct{})}
	m.wires = append(m.wires, w)
	return w
}

func dup(t testing.TB, f *os.File) *os.File {
	raw, err := f.SyscallConn()
	check(t, err)
	var fd int
	raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	check(t, err)
	return os.NewFile(uintptr(fd), f.Name())
}

func (w *wire) Read(p []byte) (int, error)  { return w.out.Read(p) }
func (w *wire) Write(p []byte) (int, error) { return w.in.Write(p) }
func (w *wire) Close() error {
	w.once.Do(func() {
		close(w.closed)
		w.in.Close()
		w.out.Close()
	})
	return nil
}

func (m *machine) dial() *client.Client {
	m.t.Helper()
	return m.dialOn(m.attach())
}

func (m *machine) dialOn(w *wire) *client.Client {
	m.t.Helper()
	c, err := client.Dial(context.Background(), w, m.key)
	check(m.t, err)
	m.t.Cleanup(func() { c.Close() })
	return c
}

// newGuest is a machine with a client, which is all that most tests need.
func newGuest(t testing.TB) (*machine, *client.Client) {
	t.Helper()
	m := startMachine(t)
	return m, m.dial()
}

// command is what a test wants to run; the zero value of everything is sane.
type command struct {
	argv    []string
	sh      string // instead of argv
	dir     string
	env     []string
	stdin   io.Reader
	timeout time.Duration
	max     int64 // of each stream; 0: no limit
}

type outcome struct {
	protocol.ExecResult
	stdout, stderr string
}

func (m *machine) params(c command) protocol.ExecParams {
	if c.sh != "" {
		c.argv = []string{"/bin/sh", "-c", c.sh}
	}
	if c.dir == "" {
		c.dir = m.workspace
	}
	if c.max == 0 {
		c.max = -1
	}
	env := append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + m.workspace}, c.env...)
	return protocol.ExecParams{
		Argv: c.argv, Dir: []byte(c.dir), Env: env, HasStdin: c.stdin != nil,
		Timeout: c.timeout, MaxStdout: c.max, MaxStderr: c.max,
	}
}

func (m *machine) try(ctx context.Context, c *client.Client, cmd command) (outcome, error) {
	var out [3]bytes.Buffer
	result, err := c.Exec(ctx, m.params(cmd), cmd.stdin, func(s protocol.Stream, chunk []byte) error {
		out[s].Write(chunk)
		return nil
	})
	return outcome{result, out[protocol.Stdout].String(), out[protocol.Stderr].String()}, err
}

func (m *machine) run(c *client.Client, cmd command) outcome {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o, err := m.try(ctx, c, cmd)
	if err != nil {
		m.t.Errorf("exec %q: %v", cmd.sh+strings.Join(cmd.argv, " "), err)
	}
	return o
}

func (m *machine) sh(c *client.Client, script string) outcome {
	m.t.Helper()
	return m.run(c, command{sh: script})
}

// expect compares exit code and output.
func (o outcome) expect(t testing.TB, code int, stdout, stderr string) {
	t.Helper()
	if o.ExitCode != code || o.stdout != stdout || o.stderr != stderr {
		t.Errorf("got exit %d, stdout %q, stderr %q; want %d, %q, %q", o.ExitCode, short(o.stdout), short(o.stderr), code, short(stdout), short(stderr))
	}
}

func short(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%s… (%d bytes)", s[:200], len(s))
	}
	return s
}

func (m *machine) file(name string) string { return filepath.Join(m.workspace, name) }

// eventually polls until ok says yes, and reports the last state otherwise.
func eventually(t testing.TB, within time.Duration, what string, ok func() (state any, done bool)) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		state, done := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: still %v after %v", what, state, within)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hasCode(err error, code protocol.Code) bool {
	var e *protocol.Error
	return errors.As(err, &e) && e.Code == code
}
