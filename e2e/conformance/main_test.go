//go:build conformance

package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	key = "conformance-key-0123456789"
	// limit is for a whole program of others, against hanging.
	limit = 2 * time.Minute
)

var buildDir string

func TestMain(m *testing.M) {
	if _, err := os.Stat("node_modules"); err != nil {
		fmt.Fprintln(os.Stderr, "node_modules is missing: run make conformance")
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "mcp-sandbox-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a directory for the server:", err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// product is the program as it is, and fixture the same with what the suite calls.
var (
	product = sync.OnceValues(func() (string, error) { return build("mcp-sandbox") })
	fixture = sync.OnceValues(func() (string, error) { return build("fixture", "-tags=conformance") })
)

func build(name string, flags ...string) (string, error) {
	out := filepath.Join(buildDir, name)
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), "../../cmd/mcp-sandbox")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // static, so that it can be the guest
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, text)
	}
	return out, nil
}

// arguments are those of a server for one test. No pool: it would be no test's.
func arguments(dir string) []string {
	return []string{"--data-dir=" + dir, "--default-image=mcp-sandbox/test-busybox", "--warm-pool=0", "--max-sandboxes=50"}
}

// serve runs a server over HTTP until the test ends.
func serve(t *testing.T, program func() (string, error), dir string) *client.Client {
	t.Helper()
	return start(t, client.Options{Door: client.REST, Args: arguments(dir), Key: key, Env: []string{"AGENT_SANDBOX_API_KEYS=" + key}}, program)
}

func start(t *testing.T, o client.Options, program func() (string, error), options ...mcpclient.ClientOption) *client.Client {
	t.Helper()
	var err error
	if o.Binary, err = program(); err != nil {
		t.Fatal(err)
	}
	c, err := client.Start(t.Context(), o, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, c) })
	return c
}

// end takes what a test has left, which is a failure unless it has failed anyway.
func end(t *testing.T, c *client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var list schemas.SandboxList
	if err := c.Call(ctx, "sandbox_list", map[string]any{}, &list); err != nil {
		t.Errorf("list what is left: %v", err)
	}
	for _, box := range list.Sandboxes {
		err := c.Call(ctx, "sandbox_destroy", map[string]any{"sandbox_id": box.ID}, nil)
		if t.Errorf("%s was left", box.ID); err != nil {
			t.Errorf("destroy it: %v", err)
		}
	}
	_ = c.Signal(syscall.SIGTERM)
	if code, err := c.ExitCode(10 * time.Second); code != 0 || err != nil {
		t.Errorf("the server ended with %d, %v\n%s", code, err, c.Log())
		c.Kill()
	}
}

// node runs a program of Node.js and returns all that it said.
func node(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(os.Environ(), "KEY="+key)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run node: %v\n%s", err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
