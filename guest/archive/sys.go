//go:build linux

package archive

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	copyBuffer = 128 << 10
	// maxDepth bounds how deep directories may nest: each level holds one
	// descriptor.
	maxDepth = 2048
)

// openat is openat(2) without following, waiting or inheriting.
func openat(dir int, name string, flags int, mode uint32) (int, error) {
	const always = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	for {
		fd, err := unix.Openat(dir, name, flags|always, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// openPath opens a directory to go through it; it need not be readable, and if
// it is "." not even be open to its owner at all.
func openPath(dir int, name string) (int, error) {
	if name == "." {
		return unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	}
	return openat(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
}

func lstat(dir int, name string) (st unix.Stat_t, err error) {
	err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

func isDir(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

// setTime sets a modification time, of a link itself.
func setTime(dir int, name string, t time.Time) error {
	ts := []unix.Timespec{
		{Nsec: unix.UTIME_OMIT},
		{Sec: t.Unix(), Nsec: int64(t.Nanosecond())},
	}
	return unix.UtimesNanoAt(dir, name, ts, unix.AT_SYMLINK_NOFOLLOW)
}

func readlink(dir int, name string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Readlinkat(dir, name, buf)
	return string(buf[:max(n, 0)]), err
}

func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		if err != nil && err != unix.EINTR {
			return err
		}
		p = p[max(n, 0):]
	}
	return nil
}

func read(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}
