package dockerbackend

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write golden files")

var full = flag.Bool("full", false, "try every case, which takes long")

// guestPath is the guest built for these tests; empty in short mode.
var guestPath string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run looks for what the tests have left running in this process.
func run(m *testing.M) int {
	code := build(m)
	if code != 0 {
		return code
	}
	if err := leaked(); err != nil {
		fmt.Fprintln(os.Stderr, "left running:", err)
		return 1
	}
	return 0
}

// leaked waits for the last looks of those that watch calls: these end by
// themselves.
func leaked() (err error) {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
		if err = goleak.Find(proxied...); err == nil {
			break
		}
	}
	return err
}

// proxied are what a test's proxy keeps of a connection that we have closed: Docker
// never ends the stream of a container that was removed before it was started.
var proxied = []goleak.Option{
	goleak.IgnoreAnyFunction("net/http/httputil.(*ReverseProxy).handleUpgradeResponse"),
	goleak.IgnoreAnyFunction("net/http/httputil.(*ReverseProxy).handleUpgradeResponse.func1"),
	goleak.IgnoreAnyFunction("net/http/httputil.switchProtocolCopier.copyFromBackend"),
}

// build builds the guest, for the embedded ones may be missing or old, and runs
// the tests.
func build(m *testing.M) int {
	if testing.Short() {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "dockerbackend-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make temporary directory:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	guestPath = filepath.Join(dir, "guest")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", guestPath, "../cmd/sandbox-guest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the guest: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
