package guest

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// streams are a command's standard streams: pipes, with our ends in the poller,
// or one terminal.
type streams struct {
	child          [3]int
	stdin          *pipeEnd // nil if the command reads the null device
	stdout, stderr *pipeEnd // stderr nil on a terminal
	terminal       *terminal
}

// terminalStreams are those of a command on a terminal.
func terminalStreams(size protocol.WindowSize) (*streams, error) {
	t, err := openTerminal(size)
	if err != nil {
		return nil, err
	}
	tty := int(t.tty.Fd())
	return &streams{child: [3]int{tty, tty, tty}, stdin: t.master, stdout: t.master, terminal: t}, nil
}

func openStreams(withStdin bool) (_ *streams, err error) {
	kernel.Lock()
	defer kernel.Unlock()
	s := &streams{child: [3]int{-1, -1, -1}}
	defer func() {
		if err != nil {
			s.closeAll()
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
	if own, err = newPipeEnd(fd); err != nil {
		rawClose(child)
	}
	return child, own, err
}

// closeChildEnds is for when the child has inherited them.
func (s *streams) closeChildEnds() {
	if s.terminal != nil {
		return // see terminal.letGo
	}
	for i, fd := range s.child {
		if fd >= 0 {
			rawClose(fd)
			s.child[i] = -1
		}
	}
}

// closeAll is for when nothing was started; the caller holds kernel.
func (s *streams) closeAll() {
	s.closeChildEnds()
	if s.terminal != nil {
		s.terminal.tty.Close()
	}
	for _, end := range []*pipeEnd{s.stdin, s.stdout, s.stderr} {
		if end != nil {
			end.file.Close()
		}
	}
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
