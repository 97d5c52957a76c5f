package guest

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// System calls that do not wait, made without entering the scheduler. An
// ordinary one that lasts more than a few microseconds (say, because the CPU is
// taken away in the middle of it) makes the runtime hand its processor to
// another thread. So the number of threads would depend on the load; and among
// two hundred busy processes every such handing over costs a place in the
// kernel's queue: looking through /proc took half a second instead of one
// millisecond.

// rawRead reads from a non-blocking descriptor.
func rawRead(fd int, p []byte) (int, unix.Errno) {
	if len(p) == 0 {
		return 0, 0
	}
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		if errno != unix.EINTR {
			return count(n, errno)
		}
	}
}

// rawWrite writes to a non-blocking descriptor.
func rawWrite(fd int, p []byte) (int, unix.Errno) {
	if len(p) == 0 {
		return 0, 0
	}
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		if errno != unix.EINTR {
			return count(n, errno)
		}
	}
}

// rawNanosleep sleeps; a signal ends that.
func rawNanosleep(t *unix.Timespec) {
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(t)), 0, 0)
}

// rawPread reads a kernel-made file (cgroup, /proc) from its start.
func rawPread(fd int, p []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), 0, 0, 0)
	return count(n, errno)
}

// rawPending is how many bytes wait in a pipe.
func rawPending(fd int) int {
	var n int32
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	if errno != 0 {
		return 0
	}
	return int(n)
}

func rawKill(pid int, sig unix.Signal) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_KILL, uintptr(pid), uintptr(sig), 0)
	return errno
}

// rawWait reaps one child if one has ended; pid 0 means none.
func rawWait(status *unix.WaitStatus, usage *unix.Rusage) (pid int) {
	var raw int32
	n, _, errno := unix.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&raw)), unix.WNOHANG, uintptr(unsafe.Pointer(usage)), 0, 0)
	if errno != 0 {
		return 0
	}
	*status = unix.WaitStatus(raw)
	return int(n)
}

// rawPrlimit reads the limits of a process (0: this one), and sets them first
// when set is not nil.
func rawPrlimit(pid, resource int, set, get *unix.Rlimit) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
	return errno
}

func count(n uintptr, errno unix.Errno) (int, unix.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// rawOpen opens a file of /proc for reading; dir is a descriptor or AT_FDCWD.
func rawOpen(dir int, path string) (int, unix.Errno) {
	name := append([]byte(path), 0)
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])), flags, 0, 0, 0)
	return count(fd, errno)
}

func rawClose(fd int) { unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func rawReadDir(fd int, p []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	return count(n, errno)
}

func rawPidfdOpen(pid int) (int, unix.Errno) {
	fd, _, errno := unix.RawSyscall(unix.SYS_PIDFD_OPEN, uintptr(pid), 0, 0)
	return count(fd, errno)
}

func rawPidfdSignal(fd int, sig unix.Signal) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(fd), uintptr(sig), 0, 0, 0, 0)
	return errno
}
