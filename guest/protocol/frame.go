package protocol

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Stream says what an exec output frame carries.
type Stream byte

// The frames of an exec's response. Exactly one Result frame comes, and it is
// the last: a response without one was cut short, whatever its status says.
const (
	Stdout Stream = 1
	Stderr Stream = 2
	Result Stream = 3 // ExecResult as JSON
)

func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	case Result:
		return "result"
	}
	return fmt.Sprintf("stream %d", byte(s))
}

// Limits of a frame. The reader enforces them, for the writer may be hostile.
const (
	FrameHeaderSize = 5       // 1 byte type, 4 bytes big-endian length
	MaxOutputFrame  = 1 << 20 // payload of one stdout or stderr frame
	MaxResultFrame  = 1 << 16 // payload of the result frame
)

// PutFrameHeader writes the header of a frame into the first FrameHeaderSize
// bytes of b, so that header and payload can go out in a single write.
func PutFrameHeader(b []byte, s Stream, length int) {
	b[0] = byte(s)
	binary.BigEndian.PutUint32(b[1:FrameHeaderSize], uint32(length))
}

// FrameReader reads output frames and never holds more than one.
type FrameReader struct {
	r      io.Reader
	header [FrameHeaderSize]byte
	buf    []byte
}

// NewFrameReader reads from r, which it does not buffer ahead.
func NewFrameReader(r io.Reader) *FrameReader { return &FrameReader{r: r} }

// Next returns the next frame; its payload is valid until the next call. The
// error is io.EOF between frames and io.ErrUnexpectedEOF inside one.
func (f *FrameReader) Next() (Stream, []byte, error) {
	if _, err := io.ReadFull(f.r, f.header[:]); err != nil {
		return 0, nil, err
	}
	s, n := Stream(f.header[0]), binary.BigEndian.Uint32(f.header[1:])
	if err := checkFrame(s, n); err != nil {
		return 0, nil, err
	}
	if int(n) > cap(f.buf) {
		f.buf = make([]byte, n)
	}
	payload := f.buf[:n]
	if _, err := io.ReadFull(f.r, payload); err != nil {
		return 0, nil, unexpected(err)
	}
	return s, payload, nil
}

func checkFrame(s Stream, n uint32) error {
	limit := uint32(MaxOutputFrame)
	switch s {
	case Stdout, Stderr:
	case Result:
		limit = MaxResultFrame
	default:
		return fmt.Errorf("%w: unknown frame type %d", ErrMalformed, byte(s))
	}
	if n > limit {
		return fmt.Errorf("%w: %s frame of %d bytes", ErrMalformed, s, n)
	}
	return nil
}

// unexpected turns the end of a stream inside a message into an error that
// cannot be taken for a clean end.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
