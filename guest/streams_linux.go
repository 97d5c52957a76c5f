package guest

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// streams are a command's standard streams: pipes, with our ends in the poller.
type streams struct {
	child          [3]int
	stdin          *pipeEnd // nil if the command reads the null device
	stdout, stderr *pipeEnd
}

func openStreams(withStdin bool) (_ *streams, err error) {
	s := &streams{child: [3]int{-1, -1, -1}}
	defer func() {
		if err != nil {
			s.closeChildEnds()
			s.closeOwnEnds()
			err = &protocol.Error{Code: protocol.ErrBusy, Message: "open pipes: " + err.Error()}
		}
	}()
	if withStdin {
		s.child[0], s.stdin, err = openPipe(0)
	} else {
		s.child[0], err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	if s.child[1], s.stdout, err = openPipe(1); err != nil {
		return nil, err
	}
	s.child[2], s.stderr, err = openPipe(1)
	return s, err
}

// openPipe makes a pipe whose end number childEnd (0 reads, 1 writes) is for
// the child and blocks, as programs expect; the other is ours and does not.
func openPipe(childEnd int) (child int, own *pipeEnd, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, nil, err
	}
	child, fd := fds[childEnd], fds[1-childEnd]
	unix.SetNonblock(fd, true)
	file := os.NewFile(uintptr(fd), "pipe")
	raw, err := file.SyscallConn()
	if err != nil {
		unix.Close(child)
		file.Close()
		return -1, nil, err
	}
	return child, &pipeEnd{fd: fd, file: file, raw: raw}, nil
}

func (s *streams) closeChildEnds() {
	for i, fd := range s.child {
		if fd >= 0 {
			unix.Close(fd)
			s.child[i] = -1
		}
	}
}

func (s *streams) closeOwnEnds() {
	for _, end := range []*pipeEnd{s.stdin, s.stdout, s.stderr} {
		if end != nil {
			end.close()
		}
	}
}

// pipeEnd is our end of a pipe. It waits in the poller and reads and writes
// with calls that the scheduler does not notice.
type pipeEnd struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

func (p *pipeEnd) close() { p.file.Close() }

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

// feed copies a request's body to a command's standard input and ends it where
// the body ends. A command that closes its input, or ends, is no error. A body
// that breaks off is not fed an end: the call is about to be cancelled, and the
// command must not take half of its input for the whole.
func feed(stdin *pipeEnd, body io.Reader) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if _, werr := stdin.Write(buf[:n]); werr != nil {
			stdin.close()
			return
		}
		if errors.Is(err, io.EOF) {
			stdin.close()
			return
		}
		if err != nil {
			return
		}
	}
}
