package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say which server to start, and how.
type Options struct {
	Binary string
	Door   Door      // by default Stdio
	Args   []string  // after the command, which follows from the door
	Key    string    // the API key to call with; all doors but Stdio want one
	Env    []string  // added to this process's environment
	Stderr io.Writer // gets a copy of the server's log; may be nil
	// Apart keeps from the server what a terminal or a timeout(1) sends to this
	// process and all that it has started.
	Apart bool
}

// Door is a way into the server.
type Door string

// The doors. All but the first two lead into "mcp-sandbox serve".
const (
	Stdio      Door = "stdio"
	Forwarded  Door = "forwarded stdio" // by a server that another process holds
	Streamable Door = "streamable HTTP"
	SSE        Door = "SSE"
	REST       Door = "v1"
)

func (d Door) stdio() bool { return d == "" || d == Stdio || d == Forwarded }

func (o Options) command() []string {
	if o.Door.stdio() {
		return append([]string{"stdio"}, o.Args...)
	}
	return append([]string{"serve", "--port=0"}, o.Args...)
}

// Process is a running server with pipes to its standard streams.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.Reader

	cmd    *exec.Cmd
	log    *buffer
	exited chan struct{}
	err    error
}

// Launch starts a server.
func Launch(o Options) (*Process, error) {
	p := &Process{log: &buffer{copy: o.Stderr}, exited: make(chan struct{})}
	p.cmd = exec.Command(o.Binary, o.command()...)
	p.cmd.Env = append(os.Environ(), o.Env...)
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: o.Apart}
	// Pipes of our own: those of exec.Cmd are closed as soon as the process has
	// ended, with its last words still inside.
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.Stdin, p.Stdout = in, out, stdin, stdout
	err = p.cmd.Start()
	in.Close()
	out.Close()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	p.err = p.cmd.Wait()
	close(p.exited)
}

// Pid is the server's process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends the server a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the server at once, as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// ExitCode waits for the server to end. It is -1 when a signal ended it.
func (p *Process) ExitCode(limit time.Duration) (int, error) {
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(limit):
		return 0, fmt.Errorf("wait for the server: still running after %v", limit)
	}
}

// Running tells whether the server has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Close closes the server's input and, when it does not leave, kills it.
func (p *Process) Close() error {
	p.Stdin.Close()
	code, err := p.ExitCode(8 * time.Second)
	if err != nil {
		p.Kill()
		return err
	}
	if code != 0 {
		return errors.New("server ended with " + p.cmd.ProcessState.String())
	}
	return nil
}

// Log is what the server has written to standard error so far.
func (p *Process) Log() string { return p.log.String() }

// Address is the URL that "serve" says it listens on, once it does.
func (p *Process) Address() (string, error) {
	line, err := bufio.NewReader(p.Stdout).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		return "", fmt.Errorf("wait for the server to listen: got %q, %w\n%s", line, err, p.Log())
	}
	return url, nil
}

// buffer collects what is written, and passes it on.
type buffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	copy io.Writer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.copy != nil {
		b.copy.Write(p)
	}
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
