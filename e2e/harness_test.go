package e2e

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Images that the tests use. They are made by scripts/test-images and
// scripts/base-image.
const (
	busybox = "mcp-sandbox/test-busybox"
	noShell = "mcp-sandbox/test-noshell"
	base    = "mcp-sandbox/base:latest"
)

// Keys of two owners, for a server over HTTP.
const (
	aliceKey = "alice-key-0123456789"
	bobKey   = "bob-key-0123456789abc"
)

// callLimit bounds every call; a call that takes longer hangs.
const callLimit = 2 * time.Minute

// server is a program for one test.
type server struct {
	*program
	t *testing.T
}

// program has a data directory, and so an instance, of its own. It may be
// restarted, which every copy of its server sees.
type program struct {
	*client.Client
	dir      string
	instance string
	args     []string
	env      []string
	// dockerHost is a daemon, or what stands in front of one; by default that of
	// all tests.
	dockerHost string
	filtered   bool // what stands in front lets only the server's calls through
	door       client.Door
	build      func() (string, error) // by default, binary
	behind     *client.Process        // that this one forwards to; nil but at the door for it
	options    []mcpclient.ClientOption
	poolSize   int // how many spares the server that runs now keeps
}

// start runs a server whose default image is busybox. When the test ends, all
// that the server made must be gone from Docker.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	return startWith(t, nil, args...)
}

func startWith(t *testing.T, options []mcpclient.ClientOption, args ...string) *server {
	t.Helper()
	return launch(t, program{options: options}, args...)
}

// startAt runs a server and goes in by one of its doors, as Alice. All that is
// said over /v1 is held against the server's own document.
func startAt(t *testing.T, door client.Door, args ...string) *server {
	t.Helper()
	return launch(t, program{door: door, env: []string{"AGENT_SANDBOX_API_KEYS=alice:" + aliceKey + ",bob:" + bobKey}}, args...)
}

func launch(t *testing.T, p program, args ...string) *server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	if err := ready(); err != nil {
		t.Fatal(err)
	}
	if p.dir == "" {
		p.dir = t.TempDir()
	}
	s := &server{&p, t}
	// No pool, unless a test wants one: two containers a server add up.
	s.args = append([]string{"--data-dir=" + s.dir, "--default-image=" + busybox, "--log-level=debug", "--warm-pool=0"}, args...)
	s.instance = instanceIn(t, s.dir)
	if p.door == client.Forwarded {
		s.hold()
	}
	s.up()
	t.Cleanup(s.finish)
	return s
}

// hold has a process without a client hold the data directory, as any that is
// started first.
func (s *server) hold() {
	s.t.Helper()
	p, err := client.Launch(s.launch())
	if err != nil {
		s.t.Fatal(err)
	}
	s.behind = p
	s.t.Cleanup(p.Kill)
	eventually(s.t, 10*time.Second, "the data directory is held", func() (bool, any) {
		_, err := os.Stat(filepath.Join(s.dir, "run", "sock"))
		return err == nil, p.Log()
	})
}

// instanceIn is what the server of a data directory is called in Docker.
func instanceIn(t *testing.T, dir string) string {
	t.Helper()
	id, err := manager.InstanceID(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// up starts the program, again after it was killed.
func (s *server) up(args ...string) {
	s.t.Helper()
	c, err := client.Start(ctx(s.t), s.launch(args...), s.options...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.use(c)
}

// use goes on with a client.
func (s *server) use(c *client.Client) {
	s.t.Helper()
	s.Client = c
	if s.door == client.REST {
		s.check()
	}
}

func (s *server) launch(args ...string) client.Options {
	s.t.Helper()
	build := s.build
	if build == nil {
		build = binary
	}
	path, err := build()
	if err != nil {
		s.t.Fatal(err)
	}
	args = append(slices.Clone(s.args), args...)
	for _, a := range args {
		fmt.Sscanf(a, "--warm-pool=%d", &s.poolSize)
	}
	var log io.Writer
	if *serverLog {
		log = os.Stderr
	}
	env := s.env
	if s.dockerHost != "" {
		env = append(env[:len(env):len(env)], "DOCKER_HOST="+s.dockerHost)
	}
	return client.Options{Binary: path, Door: s.door, Key: aliceKey, Args: args, Env: env, Stderr: log}
}

// restart kills the server as a crash would and starts it again.
func (s *server) restart(args ...string) {
	s.t.Helper()
	s.checkLog()
	s.Kill()
	s.up(args...)
}

// finish destroys what lives, ends the server, and looks for what is left.
func (s *server) finish() {
	if !s.Running() {
		s.up()
	}
	for _, b := range s.list() {
		if err := s.destroy(b.ID); err != nil && client.Code(err) != "not_found" { // it may have expired meanwhile
			s.t.Errorf("destroy %s: %v", b.ID, err)
		}
	}
	if slices.Contains(s.args, poolOfTwo) { // what a killed server's pool has left must be gone by then
		eventually(s.t, time.Minute, "only two spares are left", func() (bool, any) {
			return len(s.awaitSpares(2)) == 2 && len(s.volumes()) == 2, s.volumes()
		})
	}
	s.end(s.Process)
	s.checkLog()
	if s.behind != nil {
		s.end(s.behind)
	}
	if left := s.leftovers(); len(left) > 0 {
		s.t.Errorf("left behind in Docker: %q\n%s", left, tail(s.Log()))
	}
}

func (s *server) end(p *client.Process) {
	p.Signal(syscall.SIGTERM)
	if code, err := p.ExitCode(5 * time.Second); err != nil || code != 0 {
		s.t.Errorf("server ended with code %d after SIGTERM: %v\n%s", code, err, tail(p.Log()))
		p.Kill()
	}
}

// checkLog fails on what must never happen in a server.
func (s *server) checkLog() {
	for _, bad := range []string{"panic", "DATA RACE", "fatal error"} {
		if i := strings.Index(s.Log(), bad); i >= 0 {
			s.t.Errorf("server log has %q: %.2000s", bad, s.Log()[i:])
		}
	}
	for _, key := range []string{aliceKey, bobKey} {
		if strings.Contains(s.Log(), key) {
			s.t.Errorf("the server log has a key")
		}
	}
	if strays := s.Strays(); len(strays) > 0 {
		s.t.Errorf("not protocol on standard output: %.300q", strays)
	}
}

// in is the same server for a subtest, so that failures are the subtest's.
func (s *server) in(t *testing.T) *server {
	return &server{s.program, t}
}

// ctx ends with the test, or with the patience for one call.
func ctx(t *testing.T) context.Context {
	return within(t, callLimit)
}

func within(t *testing.T, limit time.Duration) context.Context {
	c, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return c
}

// eventually polls until state is good, and fails with the last state seen.
func eventually(t *testing.T, limit time.Duration, what string, state func() (good bool, seen any)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		good, seen := state()
		if good {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s; last seen: %v", limit, what, seen)
		}
		time.Sleep(50 * time.Millisecond) // between two looks, not to wait for anything
	}
}

// tail is the last lines of a log, and of each not too much.
func tail(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	lines = lines[max(0, len(lines)-10):]
	for i, line := range lines {
		lines[i] = line[:min(len(line), 500)]
	}
	return strings.Join(lines, "\n")
}
