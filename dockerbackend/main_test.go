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
	if err := makeUnique(guestPath); err != nil {
		fmt.Fprintln(os.Stderr, "mark the guest:", err)
		return 1
	}
	return m.Run()
}

// makeUnique gives this run prepared images of its own, which it can remove
// under nobody: they are named after the guest's content, and bytes after the
// end of a program do not matter.
func makeUnique(program string) error {
	f, err := os.OpenFile(program, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(randomHex(16)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
