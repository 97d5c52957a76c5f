// Package e2e proves the product from outside: it builds the real program, runs
// it as a client does, on a real Docker daemon, and looks at what a client, a
// sandbox and the daemon can see.
//
// Each file holds the cases of one kind; a subtest's name begins with the ID of
// its case in docs/field-cases.md. Without a daemon the tests fail; only -short
// leaves them out. -full runs every count in full.
//
// Adding a case: take a server by start (startAt for another door than stdio), a
// sandbox by its create, and say what must hold. Whatever is left in Docker when
// the test ends is a failure.
package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
)

var (
	full       = flag.Bool("full", false, "run every case with its full count")
	serverPath = flag.String("server", os.Getenv("MCP_SANDBOX_BIN"), "test this program instead of building one")
	serverRace = flag.Bool("server-race", false, "build the server with the race detector")
	update     = flag.Bool("update", false, "write the generated parts of docs")
	serverLog  = flag.Bool("server-log", false, "copy the servers' logs to standard error")
)

// buildDir holds the program under test, and goes away with the tests.
var buildDir string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "mcp-sandbox-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a directory for the server:", err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// binary is the program under test, built when the first test asks.
var binary = sync.OnceValues(func() (string, error) {
	if *serverPath != "" {
		return filepath.Abs(*serverPath)
	}
	return build("mcp-sandbox")
})

// faulty is the same program with points at which it can be made to die.
var faulty = sync.OnceValues(func() (string, error) { return build("mcp-sandbox-faults", "-tags=faults") })

// generated: the server holds the guest program as it was when that was last
// generated.
var generated = sync.OnceValue(func() error {
	if text, err := exec.Command("go", "generate", "../dockerbackend").CombinedOutput(); err != nil {
		return fmt.Errorf("build the guest: %w\n%s", err, text)
	}
	return nil
})

func build(name string, flags ...string) (string, error) {
	if err := generated(); err != nil {
		return "", err
	}
	if *serverRace {
		return buildProgram(name, "../cmd/mcp-sandbox", append(flags, "-race")...)
	}
	return buildProgram(name, "../cmd/mcp-sandbox", flags...)
}

// buildProgram builds a package of this module, and returns where it is.
func buildProgram(name, from string, flags ...string) (string, error) {
	out, cgo := filepath.Join(buildDir, name), "CGO_ENABLED=0"
	if slices.Contains(flags, "-race") {
		cgo = "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), from)...)
	// Static, so that it can be the guest where none was built in.
	cmd.Env = append(os.Environ(), cgo)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", from, err, text)
	}
	return out, nil
}

// ready fails the test unless Docker answers and the test images are there.
var ready = sync.OnceValue(func() error {
	if out, err := docker("version", "--format", "{{.Server.Version}}"); err != nil {
		return fmt.Errorf("no Docker daemon (scripts/ensure-docker starts one): %w %s", err, out)
	}
	for _, script := range []string{"test-images", "base-image"} {
		cmd := exec.Command("../scripts/" + script)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run scripts/%s: %w\n%s", script, err, bytes.TrimSpace(out))
		}
	}
	return nil
})

// installed leaves a test out where a program is missing that not everybody wants on
// their machine. Continuous integration has them all.
func installed(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		skip.OrFail(t, fmt.Sprintf("%s is missing: scripts/need %s installs it", program, program))
	}
}

// asRoot leaves a test out where it is not run by root, as continuous integration does.
func asRoot(t *testing.T, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		skip.OrFail(t, "only root can "+what)
	}
}

// count is how often a case is repeated: few by default, all with -full.
func count(few, all int) int {
	if *full {
		return all
	}
	return few
}
