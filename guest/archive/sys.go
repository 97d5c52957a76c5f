//go:build linux

package archive

import (
	"bytes"
	"io"
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

// holeSize is the least stretch of zeros that is left out: a page, below which a
// filesystem saves nothing.
const holeSize = 4 << 10

var zeroBytes [holeSize]byte

// writeSparse writes p at fd's position, skips whole pages of zeros, and tells
// whether it ended by skipping some.
func writeSparse(fd int, p []byte) (hole bool, err error) {
	for len(p) > 0 {
		data, skip := 0, 0
		for data < len(p) && !zeroPage(p[data:]) {
			data = min(data+holeSize, len(p))
		}
		for zeroPage(p[data+skip:]) {
			skip += holeSize
		}
		if err := writeAll(fd, p[:data]); err != nil {
			return false, err
		}
		if hole = skip > 0; hole {
			if _, err := unix.Seek(fd, int64(skip), io.SeekCurrent); err != nil {
				return false, err
			}
		}
		p = p[data+skip:]
	}
	return hole, nil
}

func zeroPage(p []byte) bool {
	return len(p) >= holeSize && bytes.Equal(p[:holeSize], zeroBytes[:])
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
