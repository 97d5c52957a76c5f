package dockerbackend

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write golden files")

var full = flag.Bool("full", false, "try every case, which takes long")

// guestPath is the guest built for these tests; empty in short mode.
var guestPath string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run builds the guest: the embedded ones may be missing or old.
func run(m *testing.M) int {
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
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", guestPath, "../cmd/sandbox-guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the guest: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
