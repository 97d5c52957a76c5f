package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

// person is somebody at a command line.
type person struct {
	t   *testing.T
	env []string
}

func (p *person) in(t *testing.T) *person { return &person{t, p.env} }

// atURL works with a server at a URL, by a key.
func atURL(t *testing.T) *person {
	s := startAt(t, client.REST)
	return &person{t, []string{"AGENT_SANDBOX_URL=" + s.URL, "AGENT_SANDBOX_API_KEY=" + aliceKey}}
}

// nearServer works with the server that holds the data directory.
func nearServer(t *testing.T) *person {
	return &person{t, []string{"AGENT_SANDBOX_DATA_DIR=" + start(t).dir}}
}

// withoutServer has Docker and nothing else. What is left there when the test
// ends is a failure.
func withoutServer(t *testing.T) *person {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	if err := ready(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &server{&program{dir: dir, instance: instanceIn(t, dir)}, t}
	p := &person{t, []string{"AGENT_SANDBOX_DATA_DIR=" + dir, "AGENT_SANDBOX_DEFAULT_IMAGE=" + busybox}}
	t.Cleanup(func() {
		ids := p.run("ls", "-q")
		if left := strings.Fields(ids.stdout); len(left) > 0 {
			p.run(append([]string{"rm"}, left...)...)
		}
		if left := s.leftovers(); len(left) > 0 {
			t.Errorf("left behind in Docker: %q", left)
		}
	})
	return p
}

// command is the program as this person runs it; what hangs is killed.
func (p *person) command(args ...string) *exec.Cmd {
	p.t.Helper()
	path, err := binary()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx(p.t), path, args...)
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

// printed is what a command left.
type printed struct {
	t              *testing.T
	args           []string
	code           int
	stdout, stderr string
}

func (p *person) run(args ...string) printed { return p.feed("", args...) }

func (p *person) feed(stdin string, args ...string) printed {
	p.t.Helper()
	cmd := p.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	return printed{p.t, args, codeOf(p.t, cmd.Run()), stdout.String(), stderr.String()}
}

// codeOf is the exit code; -1 is a signal.
func codeOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err != nil {
		return exit.ExitCode()
	}
	return 0
}

// is fails unless a command ended so.
func (r printed) is(code int, stdout string) {
	r.t.Helper()
	if r.code != code || r.stdout != stdout {
		r.t.Errorf("%q: code %d, %.200q, %.500q; want %d, %.200q", r.args, r.code, r.stdout, r.stderr, code, stdout)
	}
}

// word is the one word that a command printed.
func (r printed) word() string {
	r.t.Helper()
	all := strings.Fields(r.stdout)
	if r.code != 0 || len(all) != 1 {
		r.t.Fatalf("%q: code %d, %.200q, %.500q", r.args, r.code, r.stdout, r.stderr)
	}
	return all[0]
}

// live is a command that runs.
type live struct {
	*exec.Cmd
	t      *testing.T
	out    *bufio.Reader
	stderr said
}

// said is standard error, so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// begin starts a command, and waits for its first line of output.
func (p *person) begin(first string, args ...string) *live {
	p.t.Helper()
	l := &live{Cmd: p.command(args...), t: p.t}
	l.Stderr = &l.stderr
	stdout, err := l.StdoutPipe()
	if err == nil {
		err = l.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	l.out = bufio.NewReader(stdout)
	if line, err := l.out.ReadString('\n'); line != first+"\n" {
		p.t.Fatalf("%q began with %q, %v, %s", args, line, err, l.stderr.String())
	}
	return l
}

// end waits for the end.
func (l *live) end() printed {
	l.t.Helper()
	rest, _ := io.ReadAll(l.out)
	return printed{l.t, l.Args[1:], codeOf(l.t, l.Wait()), string(rest), l.stderr.String()}
}
