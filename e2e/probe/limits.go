//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const helperEat = "eat"

// limits: what happens at each. All is given back.
func limits(f findings) {
	var nofile, core unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &nofile)
	_ = unix.Getrlimit(unix.RLIMIT_CORE, &core)
	f["open files"] = fmt.Sprint(nofile.Max)
	f["core files"] = fmt.Sprintf("%d bytes", core.Max)
	f["memory limit"] = number("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max")
	f["fill /tmp"] = fill("/tmp/full")
	f["fill /dev/shm"] = fill("/dev/shm/full")
	f["processes"] = processes()
	f["more memory than there is"] = overeat()
	f["seconds of CPU in a second"] = burn()
}

func number(names ...string) string {
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			return strings.TrimSpace(string(text)) + " bytes"
		}
	}
	return "not shown"
}

// fill writes a file until there is no room, at most 1 GiB.
func fill(name string) string {
	file, err := os.Create(name)
	if err != nil {
		return err.Error()
	}
	defer os.Remove(name)
	defer file.Close()
	block, total := make([]byte, 1<<16), 0
	for ; total < 1<<30; total += len(block) {
		if _, err := file.Write(block); errors.Is(err, unix.ENOSPC) {
			return "no space"
		} else if err != nil {
			return err.Error()
		}
	}
	return "takes 1 GiB"
}

// processes starts as many as it may, at most 10 000, and tells how many. The children are made by
// bare system calls and do nothing: no program fits into a used up limit.
func processes() string {
	var pids []int
	defer func() {
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range pids {
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	}()
	for len(pids) < 10_000 {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if e == 0 && pid == 0 {
			for {
				unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
		if e != 0 {
			return fmt.Sprint(len(pids))
		}
		pids = append(pids, int(pid))
	}
	return "10000"
}

// overeat has a child take more memory than any sandbox of the tests has.
func overeat() string {
	err := exec.Command("/proc/self/exe", helperEat).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && strings.Contains(exit.Error(), "killed") {
		return "killed"
	}
	return fmt.Sprint("ended with ", err)
}

func eat() {
	var held [][]byte
	for range 4096 {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		held = append(held, block)
	}
	runtime.KeepAlive(held)
}

// burn keeps several threads busy and tells what they got, in tenths.
func burn() string {
	const threads, long = 4, time.Second
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	runtime.GOMAXPROCS(threads)
	end := time.Now().Add(long)
	done := make(chan bool)
	for range threads {
		go func() {
			for time.Now().Before(end) {
			}
			done <- true
		}()
	}
	for range threads {
		<-done
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	switch {
	case used < 7*long/10:
		return "at most 0.7"
	default:
		return used.String()
	}
}
