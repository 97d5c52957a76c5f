package protocol

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
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

// FrameBuffer is the size of a [FrameReader]'s buffer, and how much of several
// frames it gives as one: what one piece of output is at most for those who get
// it, as a line of a stream of events.
const FrameBuffer = 64<<10 + FrameHeaderSize

// PutFrameHeader writes the header of a frame into the first FrameHeaderSize
// bytes of b, so that header and payload can go out in a single write.
func PutFrameHeader(b []byte, s Stream, length int) {
	b[0] = byte(s)
	binary.BigEndian.PutUint32(b[1:FrameHeaderSize], uint32(length))
}

// FrameReader reads output frames. It holds one, and a buffer.
type FrameReader struct {
	r   *bufio.Reader
	buf []byte
}

// NewFrameReader reads from r, and ahead what r has. A bufio.Reader of at least
// FrameBuffer is used as it is.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, FrameBuffer)}
}

// Next returns the next frame; its payload is valid until the next call. The
// error is io.EOF between frames and io.ErrUnexpectedEOF inside one.
//
// Frames of one output stream that are here already come as one: of a command
// that writes little at a time, each piece by itself costs a reader who is
// slower than it too much.
func (f *FrameReader) Next() (Stream, []byte, error) {
	header, err := f.r.Peek(FrameHeaderSize)
	if err != nil {
		if len(header) > 0 {
			err = unexpected(err)
		}
		return 0, nil, err
	}
	h, err := parseHeader(header)
	if err != nil {
		return 0, nil, err
	}
	f.buf = f.buf[:0]
	for s, more := h.stream, true; more; h, more = f.follows(s) {
		if err := f.take(h); err != nil {
			return 0, nil, err
		}
	}
	return h.stream, f.buf, nil
}

// take adds a frame's payload to the buffer.
func (f *FrameReader) take(h header) error {
	if h.packed {
		return f.unpack(h.length)
	}
	if _, err := f.r.Discard(FrameHeaderSize); err != nil {
		return err
	}
	have := len(f.buf)
	f.buf = slices.Grow(f.buf, h.length)[:have+h.length]
	_, err := io.ReadFull(f.r, f.buf[have:])
	return unexpected(err)
}

// follows is a frame of the same output stream that is wholly here, and for which
// there is room.
func (f *FrameReader) follows(s Stream) (h header, ok bool) {
	h.stream = s
	if s == Result || f.r.Buffered() < FrameHeaderSize {
		return h, false
	}
	head, _ := f.r.Peek(FrameHeaderSize)
	next, err := parseHeader(head)
	if err != nil || next.stream != s || FrameHeaderSize+next.length > f.r.Buffered() {
		return h, false
	}
	size := next.length
	if next.packed {
		_, size, err = f.block(next.length)
	}
	return next, err == nil && len(f.buf)+size <= FrameBuffer
}

// Rest is what has been read behind the last frame.
func (f *FrameReader) Rest() int { return f.r.Buffered() }

// header is what a frame begins with.
type header struct {
	stream Stream
	packed bool
	length int // on the way
}

func parseHeader(b []byte) (header, error) {
	s, n := Stream(b[0]), binary.BigEndian.Uint32(b[1:])
	h := header{stream: s &^ packedFlag, packed: s&packedFlag != 0, length: int(n)}
	if h.packed && (h.stream == Result || n > maxPackedFrame) {
		return h, fmt.Errorf("%w: packed %s frame of %d bytes", ErrMalformed, h.stream, n)
	}
	return h, checkFrame(h.stream, n)
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
