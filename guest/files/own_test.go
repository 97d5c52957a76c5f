//go:build linux

package files

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// The guest's own directory in /proc is closed by every name that it has.
func TestF4F16OwnProcIsClosed(t *testing.T) {
	w := newWorld(t)
	secret, err := os.CreateTemp(t.TempDir(), "secret")
	must(t, err)
	defer secret.Close()
	fd, pid, tid := secret.Fd(), os.Getpid(), unix.Gettid()
	must(t, os.Symlink("/proc/self", w.path("proc")))
	must(t, os.Symlink(fmt.Sprintf("/proc/self/fd/%d", fd), w.path("fd")))
	must(t, os.Symlink("/proc/self/environ", w.path("environ")))
	for _, p := range []string{
		"/proc/self/environ", "/proc/thread-self/environ", "/proc/self/maps",
		fmt.Sprintf("/proc/%d/environ", pid), fmt.Sprintf("/proc/%d/environ", tid),
		fmt.Sprintf("/proc/%d/task/%d/environ", pid, tid),
		fmt.Sprintf("/proc/self/fd/%d", fd), fmt.Sprintf("/dev/fd/%d", fd),
		"/proc/self/root/etc/passwd", "/proc/self/cwd/own.go", "/proc/self/exe",
		"/workspace/proc/environ", "/workspace/fd", "/workspace/environ",
	} {
		_, err := w.get(p)
		wantCode(t, err, protocol.ErrPermission)
	}
	for _, p := range []string{
		"/proc/self", "/proc/self/fd", "/proc/self/task", "/proc/self/root", "/proc/self/cwd", "/dev/fd",
		fmt.Sprintf("/proc/%d", pid), fmt.Sprintf("/proc/%d/fd", tid), "/workspace/proc", "/workspace/proc/map_files",
	} {
		_, err := w.ls(p)
		wantCode(t, err, protocol.ErrPermission)
		_, err = w.OpenDir([]byte(p))
		wantCode(t, err, protocol.ErrPermission)
	}
	_, err = w.Stat(protocol.StatParams{Path: []byte("/proc/self/exe")})
	wantCode(t, err, protocol.ErrPermission)
}

func TestF16OwnProcIsClosedToTheUserToo(t *testing.T) {
	if asUser(t) {
		TestF4F16OwnProcIsClosed(t)
	}
}

func TestOtherProcIsOpen(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command("sleep", "60")
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	got, err := w.get(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
	if err != nil || got == "" {
		t.Errorf("comm of another process: %q, %v", got, err)
	}
	info, body, err := w.Read(protocol.ReadParams{Path: []byte("/proc/version"), Length: -1})
	must(t, err)
	defer body.Close()
	if want := w.slurp("/proc/version"); info.Size != int64(len(want)) {
		t.Errorf("/proc/version has size %d, want %d", info.Size, len(want))
	}
	_, err = w.ls("/proc")
	must(t, err)
	_, err = w.ls(fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid))
	must(t, err)
	// What a link of /proc leads to is taken from its text, in this very root.
	etc, err := w.ls(fmt.Sprintf("/proc/%d/root/etc", cmd.Process.Pid))
	if err != nil || len(etc) == 0 || !strings.HasPrefix(string(etc[0].Path), "/proc/") {
		t.Errorf("list root/etc: %d entries, %v", len(etc), err)
	}
}
