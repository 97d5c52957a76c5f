package dockerbackend

import (
	"bufio"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"sync"
)

// stream is the guest's standard input and output over an attached connection.
// It undoes Docker's framing as it is read, so that a reader who waits holds up
// the guest and nothing piles up in between.
type stream struct {
	conn net.Conn
	in   *bufio.Reader // saves a system call for each frame's header
	log  *slog.Logger

	left   uint32 // of the current standard output frame
	logged int    // bytes of standard error logged

	closing sync.Once
}

// A frame of the attached stream: one byte which stream, three zero bytes, four
// bytes of big-endian length.
const (
	frameHeader = 8
	frameStdout = 1
	frameStderr = 2
)

// maxStderr is how much of the guest's standard error a connection's log may
// get. The guest has little to say, and is not to be trusted with the disk.
const maxStderr = 64 << 10

// readAhead is kept for each sandbox that somebody is connected to. What is read
// in bulk goes past it.
const readAhead = 16 << 10

func newStream(conn net.Conn, log *slog.Logger) *stream {
	return &stream{conn: conn, in: bufio.NewReaderSize(conn, readAhead), log: log}
}

func (s *stream) Read(p []byte) (int, error) {
	for s.left == 0 {
		if err := s.nextFrame(); err != nil {
			return 0, err
		}
	}
	if uint32(len(p)) > s.left {
		p = p[:s.left]
	}
	n, err := s.in.Read(p)
	s.left -= uint32(n)
	return n, err
}

func (s *stream) nextFrame() error {
	var header [frameHeader]byte
	if _, err := io.ReadFull(s.in, header[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(header[4:])
	if header[0] == frameStdout {
		s.left = size
		return nil
	}
	return s.logFrame(int64(size))
}

// logFrame logs a frame that is not standard output, up to the limit.
func (s *stream) logFrame(size int64) error {
	text := make([]byte, min(size, int64(maxStderr-s.logged), 4<<10))
	if _, err := io.ReadFull(s.in, text); err != nil {
		return err
	}
	if len(text) > 0 {
		s.logged += len(text)
		s.log.Debug("guest says", "text", string(text))
	}
	_, err := io.CopyN(io.Discard, s.in, size-int64(len(text)))
	return err
}

func (s *stream) Write(p []byte) (int, error) { return s.conn.Write(p) }

func (s *stream) Close() (err error) {
	s.closing.Do(func() { err = s.conn.Close() })
	return err
}
