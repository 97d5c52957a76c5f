//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const helperOrphan = "orphan"

// first: the first process, which is the guest, is out of a command's reach. That
// it outlives the signals shows in the probe's going on.
func first(f findings) {
	f["the first process"] = strings.TrimSpace(fields("/proc/1/status")["Name"])
	for s := syscall.Signal(1); s <= 64; s++ {
		_ = syscall.Kill(1, s)
	}
	f["64 signals to it"] = "without effect"
	if fields("/proc/1/status")["Name"] == "" {
		f["64 signals to it"] = "it is gone"
	}
	f.try("read it", readAny("/proc/1/environ", "/proc/1/maps", "/proc/1/fd", "/proc/1/map_files", "/proc/1/root/", "/proc/1/auxv"))
	f.try("open its memory", openAny(os.O_RDWR, "/proc/1/mem"))
	f.try("trace it", call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1, 0))
	f.try("seize it", call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 1, 0))
	f.try("read across", readAcross())
	f.try("limit it", unix.Prlimit(1, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil))
	f.try("slow it down", unix.Setpriority(unix.PRIO_PROCESS, 1, 19))
	f.try("have it killed first", os.WriteFile("/proc/1/oom_score_adj", []byte("1000"), 0))
	f["orphans"] = orphans()
}

func readAcross() error {
	buf := make([]byte, 16)
	local := []unix.Iovec{{Base: &buf[0], Len: 16}}
	_, err := unix.ProcessVMReadv(1, local, []unix.RemoteIovec{{Base: 0x400000, Len: 16}}, 0)
	return err
}

// orphans are reaped: one that has ended, and whose parent is gone, does not stay.
func orphans() string {
	pid, err := exec.Command("/proc/self/exe", helperOrphan).Output()
	if err != nil {
		return err.Error()
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + string(pid)); err != nil {
			return "reaped"
		}
	}
	return "stay"
}

// orphan leaves a child behind, and says which.
func orphan() {
	cmd := exec.Command("/proc/self/exe", helperNothing)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(cmd.Process.Pid)
}
