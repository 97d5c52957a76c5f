package guest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeEnd is our end of a pipe, or one of the guest's own standard streams. It waits in the poller and reads and writes
// with calls that the scheduler does not notice.
type pipeEnd struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
	// patient: when it is full, a write waits until there is room for more than one
	// page. Whoever reads it frees one at a time, and each would wake us up.
	patient bool
}

const onePage = 4 << 10

// newPipeEnd takes over fd, which must not block. It makes sure that fd can be
// waited for: os.NewFile does not tell, and every wait would then fail, which a
// reader takes for the end of the data. The kernel can refuse it at any time,
// since it bounds what all processes of a user watch together
// (fs.epoll.max_user_watches).
func newPipeEnd(fd int) (*pipeEnd, error) {
	file := os.NewFile(uintptr(fd), "pipe")
	raw, err := file.SyscallConn()
	if err == nil {
		err = file.SetDeadline(time.Time{})
	}
	if errors.Is(err, os.ErrNoDeadline) {
		err = watchError(fd)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &pipeEnd{fd: fd, file: file, raw: raw}, nil
}

// watchError says why the kernel refuses to watch fd.
func watchError(fd int) error {
	poller, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(poller)
	err = unix.EpollCtl(poller, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	return fmt.Errorf("watch descriptor: %w", cmp.Or(err, os.ErrNoDeadline))
}

func (p *pipeEnd) close() {
	kernel.Lock()
	defer kernel.Unlock()
	p.file.Close()
}

// await calls read until it is content, each time that there may be something to
// read, or until the deadline.
func (p *pipeEnd) await(read func() bool) error {
	return p.raw.Read(func(uintptr) bool { return read() })
}

// Read waits for data, the end (io.EOF) or the deadline.
func (p *pipeEnd) Read(b []byte) (n int, err error) {
	var errno unix.Errno
	err = p.raw.Read(func(fd uintptr) bool {
		n, errno = rawRead(int(fd), b)
		return errno != unix.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write writes all of b.
func (p *pipeEnd) Write(b []byte) (done int, err error) {
	for done < len(b) && err == nil {
		if p.patient && done > 0 && len(b)-done > onePage {
			rawSleep(gatherTime)
		}
		var n int
		var errno unix.Errno
		err = p.raw.Write(func(fd uintptr) bool {
			n, errno = rawWrite(int(fd), b[done:])
			return errno != unix.EAGAIN
		})
		if err == nil && errno != 0 {
			err = errno
		}
		done += n
	}
	return done, err
}
