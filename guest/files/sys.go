//go:build linux

package files

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// errEscapes is a walk that left where it must stay.
var errEscapes = errors.New("path leads outside")

// openat is openat(2) with what every open here wants: no link followed, no
// waiting, no terminal taken, nothing inherited by commands.
func openat(dir int, name string, flags int, mode uint32) (int, error) {
	const always = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	for {
		fd, err := unix.Openat(dir, name, flags|always, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// openDir opens a directory to walk through; it need not be readable.
func openDir(dir int, name string) (int, error) {
	return openat(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
}

func lstat(dir int, name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

func readlink(dir int, name string) (string, error) {
	buf := make([]byte, 256)
	for {
		n, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return "", err
		}
		if n == 0 {
			return "", unix.ENOENT
		}
		if n < len(buf) {
			return string(buf[:n]), nil
		}
		buf = make([]byte, 4*len(buf))
	}
}

// ProcPath names an open descriptor as a path, for calls that take no
// descriptor opened with O_PATH.
func ProcPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Chmod changes the mode of what fd is, also when fd is an O_PATH descriptor.
func Chmod(fd int, mode uint32) error { return unix.Chmod(ProcPath(fd), mode) }
