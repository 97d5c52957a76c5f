package tools

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// unreadOf tells how much of what was written to a pipe or Unix socket its reader
// has not read: in bytes for a pipe, in the memory that it takes for a socket (see
// FIONREAD in pipe(7), SIOCOUTQ in unix(7)), so that only zero means the same. It
// is nil for all else.
func unreadOf(w io.Writer) func() int {
	c, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	var request uint
	_ = raw.Control(func(fd uintptr) { request = unreadRequest(int(fd)) })
	if request == 0 {
		return nil
	}
	return func() (n int) {
		_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), request) })
		return n // 0 when it is closed
	}
}

func unreadRequest(fd int) uint {
	var s unix.Stat_t
	if unix.Fstat(fd, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFIFO {
		return unix.TIOCINQ
	}
	if address, err := unix.Getsockname(fd); err == nil {
		if _, local := address.(*unix.SockaddrUnix); local {
			return unix.TIOCOUTQ
		}
	}
	return 0
}
