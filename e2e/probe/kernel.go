//go:build linux

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel: what a command sees and may set of the kernel, and of other processes.
func kernel(f findings) {
	for name, err := range map[string]error{
		"set the host's name":     unix.Sethostname([]byte("other")),
		"set the clock":           unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{Sec: 1}),
		"reboot":                  unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF),
		"load a module":           call(unix.SYS_INIT_MODULE, 0, 0, 0),
		"load a program (bpf)":    call(unix.SYS_BPF, 0, 0, 0),
		"use the kernel's keys":   call(unix.SYS_KEYCTL, 0, uintptr(1<<32-3), 0),
		"count events of the CPU": call(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&unix.PerfEventAttr{Size: 64})), 0, allOnes),
		"queue calls (io_uring)":  call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&[128]byte{})), 0),
		"swap":                    call(unix.SYS_SWAPON, uintptr(unsafe.Pointer(&[]byte("/tmp/x\x00")[0])), 0, 0),
		"leave its name spaces":   unix.Unshare(unix.CLONE_NEWNS),
		"read the kernel's log":   kernelLog(),
	} {
		f.deny(name, err)
	}
	f.try("write settings in /proc", openAny(os.O_WRONLY, "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger"))
	f.try("read masked files", readAny("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats", "/proc/acpi", "/proc/scsi", "/sys/firmware"))
	f.try("write to /sys", writeSys())
	f.try("make a control group", makeGroup())
	f.try("open a device of the host", openAny(os.O_RDONLY, "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/net/tun", "/dev/vsock", "/dev/kvm"))
	f["processes of others"] = list(foreign())
	f["memory shared with others"] = list(segments())
}

const allOnes = ^uintptr(0) // -1

func call(number, a, b, c uintptr) error {
	if _, _, e := unix.Syscall6(number, a, b, c, allOnes, 0, 0); e != 0 {
		return e
	}
	return nil
}

func kernelLog() error {
	const readAll = 3
	_, err := unix.Klogctl(readAll, make([]byte, 4096))
	return err
}

// openAny is nil when one of the files can be opened, else the last error.
func openAny(flag int, names ...string) (err error) {
	for _, name := range names {
		var file *os.File
		if file, err = os.OpenFile(name, flag|syscall.O_NONBLOCK, 0); err == nil {
			file.Close()
			return nil
		}
	}
	return err
}

// readAny is nil when one of them has content.
func readAny(names ...string) error {
	for _, name := range names {
		if entries, err := os.ReadDir(name); err == nil && len(entries) > 0 {
			return nil
		}
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		n, _ := file.Read(make([]byte, 16))
		file.Close()
		if n > 0 {
			return nil
		}
	}
	return fs.ErrNotExist
}

// writeSys is nil when a file in /sys can be opened for writing.
func writeSys() error {
	err := error(fs.ErrNotExist)
	for _, pattern := range []string{"/sys/kernel/*", "/sys/kernel/mm/*/*", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*", "/sys/class/net/*/*", "/sys/module/*/parameters/*", "/sys/power/*"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			if info, e := os.Lstat(name); e != nil || !info.Mode().IsRegular() {
				continue
			}
			if err = openAny(os.O_WRONLY, name); err == nil {
				return nil
			}
		}
	}
	return err
}

func makeGroup() error {
	err := error(fs.ErrNotExist)
	names, _ := filepath.Glob("/sys/fs/cgroup/*")
	for _, dir := range append(names, "/sys/fs/cgroup") {
		if err = os.Mkdir(filepath.Join(dir, "probe"), 0o700); err == nil {
			return nil
		}
	}
	return err
}

// foreign are the processes that are of another user, or whose parent is none of
// the sandbox's.
func foreign() (found []string) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			continue // has just ended
		}
		// What is not dumpable, as the guest, belongs to root in /proc.
		if int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() && !slices.Contains([]string{"guest", "mcp-sandbox"}, fields(name + "/status")["Name"]) {
			found = append(found, fields(name + "/status")["Name"])
		}
	}
	return found
}

// segments are the lines of System V's shared memory, but for the heading.
func segments() (found []string) {
	text, _ := os.ReadFile("/proc/sysvipc/shm")
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[min(1, len(lines)):]
}
