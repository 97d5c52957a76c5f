//go:build linux

package files

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// world is a workspace in a temporary directory, with a sibling that nothing
// may touch.
type world struct {
	*Files
	t   *testing.T
	dir string // the workspace
	out string // what lies outside
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldIn(t, t.TempDir())
}

// newFastWorld is in memory where there is such a place: for tests that make
// very many changes.
func newFastWorld(t *testing.T) *world {
	t.Helper()
	base, err := os.MkdirTemp("/dev/shm", "files")
	if err != nil {
		return newWorld(t)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	return newWorldIn(t, base)
}

func newWorldIn(t *testing.T, base string) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(base, "ws"), out: filepath.Join(base, "ws-evil")}
	must(t, os.Mkdir(w.dir, 0o755))
	must(t, os.Mkdir(w.out, 0o755))
	must(t, os.WriteFile(filepath.Join(w.out, "canary"), []byte("canary"), 0o644))
	var err error
	w.Files, err = Open(w.dir)
	must(t, err)
	t.Cleanup(func() {
		if got := w.names(w.out); !slices.Equal(got, []string{"canary"}) || w.slurp(filepath.Join(w.out, "canary")) != "canary" {
			t.Errorf("outside the workspace changed: %q", got)
		}
	})
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) put(path, content string) (protocol.FileInfo, error) {
	return w.Write(context.Background(), protocol.WriteParams{Path: []byte(path), MaxBytes: -1}, strings.NewReader(content))
}

func (w *world) mustPut(path, content string) protocol.FileInfo {
	w.t.Helper()
	info, err := w.put(path, content)
	if err != nil {
		w.t.Fatalf("put %q: %v", path, err)
	}
	return info
}

func (w *world) get(path string) (string, error) {
	_, body, err := w.Read(protocol.ReadParams{Path: []byte(path), Length: -1})
	if err != nil {
		return "", err
	}
	defer body.Close()
	all, err := io.ReadAll(body)
	return string(all), err
}

func (w *world) ls(path string) ([]protocol.FileInfo, error) {
	r, err := w.List(protocol.ListParams{Path: []byte(path), Limit: 1000})
	return r.Entries, err
}

func (w *world) slurp(path string) string {
	w.t.Helper()
	b, err := os.ReadFile(path)
	must(w.t, err)
	return string(b)
}

func (w *world) names(path string) []string {
	w.t.Helper()
	entries, err := os.ReadDir(path)
	must(w.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, codes ...protocol.Code) {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || !slices.Contains(codes, e.Code) {
		t.Errorf("error is %v; want code %v", err, codes)
		return
	}
	if strings.Contains(e.Message, os.TempDir()) {
		t.Errorf("message %q names a path of this machine", e.Message)
	}
}

// soon fails the test when do hangs.
func soon(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
		t.Fatal("the call hangs")
	}
}

const asUserEnv = "GUEST_TEST_AS_USER"

// asUser runs the calling test again as an ordinary user when it runs as root,
// whom no mode stops. It returns true in the run that is to do the test, whose
// process is not dumpable, as the guest's is not: that closes much of /proc.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		must(t, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
		return true
	}
	if os.Getenv(asUserEnv) != "" {
		t.Fatal("still root")
	}
	dir, err := os.MkdirTemp("", "asuser")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o777))
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	binary := filepath.Join(dir, "test")
	must(t, os.WriteFile(binary, self, 0o755))
	cmd := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asUserEnv+"=1", "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	return false
}
