//go:build linux

package guest

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// filledPipe is one with content.
func filledPipe(t *testing.T, content []byte) (own *pipeEnd, child int) {
	t.Helper()
	var fds [2]int
	check(t, unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	_, err := unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, max(len(content), onePage))
	check(t, err)
	n, err := unix.Write(fds[1], content)
	if check(t, err); n != len(content) {
		t.Fatalf("the pipe takes only %d bytes", n)
	}
	own, err = newPipeEnd(fds[0])
	check(t, err)
	return own, fds[1]
}

// keeper keeps what it gets until flush, and tells then how much is still in the
// pipe.
type keeper struct {
	fd      int
	kept    int
	flushed chan [2]int // bytes sent, bytes in the pipe
}

func (s *keeper) write(_ protocol.Stream, b []byte) error {
	s.kept += len(b) - protocol.FrameHeaderSize
	return nil
}

func (s *keeper) flush() error {
	if s.kept > 0 {
		s.flushed <- [2]int{s.kept, rawPending(s.fd)}
		s.kept = 0
	}
	return nil
}

// When no more may be sent nothing comes that the last of it could go with: it
// is sent, however much the command goes on to write.
func TestLastOutputBeforeTheCapIsSent(t *testing.T) {
	own, child := filledPipe(t, make([]byte, 1<<20))
	sink := &keeper{fd: own.fd, flushed: make(chan [2]int, 10)}
	o := newOutlet(own, protocol.Stdout, 5000, sink)
	if got := <-sink.flushed; got[0] != 5000 || got[1] == 0 {
		t.Errorf("%d bytes sent when %d were left in the pipe", got[0], got[1])
	}
	unix.Close(child)
	check(t, <-o.drained)
}

// brokenOnce fails the first write.
type brokenOnce struct {
	http.ResponseWriter
	failed bool
}

func (b *brokenOnce) Write(p []byte) (int, error) {
	if !b.failed {
		b.failed = true
		return 0, errors.New("broken")
	}
	return b.ResponseWriter.Write(p)
}

// A flush that fails, and so a hole in the output, is not forgotten.
func TestFailedFlushIsTold(t *testing.T) {
	own, child := filledPipe(t, bytes.Repeat([]byte("x"), 20_000))
	defer unix.Close(child)
	r := httptest.NewRecorder()
	out := newFrameWriter(&brokenOnce{ResponseWriter: r}, true)
	out.sendAll = func() error { return nil }
	if err := <-newOutlet(own, protocol.Stdout, -1, out).drained; err == nil {
		t.Errorf("%d of 20000 bytes are there, and no error", r.Body.Len())
	}
	if err := out.result(protocol.ExecResult{}); err == nil {
		t.Error("a result behind a hole")
	}
}
