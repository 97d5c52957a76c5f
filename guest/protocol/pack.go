package protocol

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
)

// Output mostly is text, and each byte of it goes through a shim and a daemon in
// small pieces, which costs more than to compress it, which is done by the
// gigabyte a second. So a caller who says so (see ExecParams) gets frames packed
// where that makes them smaller. The payload of a packed frame is the length of
// an S2 block, the block, and filling.
const packedFlag Stream = 0x80

const (
	packedHead = 4 // bytes of the block's length
	// MaxPacked is how much a packed frame stands for at most.
	MaxPacked      = 64 << 10
	maxPackedFrame = FrameBuffer - FrameHeaderSize
	// minShare: a frame is never less than an eighth of what it stands for. So the
	// windows, which count bytes under way, also bound what a command can have
	// written and nobody has read.
	minShare = 8
)

// PackBuffer is what [Pack] needs room for.
var PackBuffer = FrameHeaderSize + packedHead + s2.MaxEncodedLen(MaxPacked)

// Pack makes a packed frame of a payload in buf, of at least PackBuffer bytes. It
// is nil where that does not save an eighth, or the payload is more than MaxPacked.
func Pack(buf []byte, s Stream, payload []byte) (frame []byte) {
	if len(payload) > MaxPacked {
		return nil
	}
	const head = FrameHeaderSize + packedHead
	block := s2.Encode(buf[head:], payload)
	length := max(packedHead+len(block), len(payload)/minShare)
	if length > len(payload)-len(payload)/8 {
		return nil
	}
	PutFrameHeader(buf, s|packedFlag, length)
	binary.BigEndian.PutUint32(buf[FrameHeaderSize:], uint32(len(block)))
	clear(buf[head+len(block) : max(head+len(block), FrameHeaderSize+length)])
	return buf[:FrameHeaderSize+length]
}

// unpack adds what a packed frame of so many bytes stands for to the buffer.
func (f *FrameReader) unpack(length int) error {
	block, size, err := f.block(length)
	if err != nil {
		return err
	}
	have := len(f.buf)
	f.buf = slices.Grow(f.buf, size)[:have+size]
	if _, err := s2.Decode(f.buf[have:], block); err != nil {
		return fmt.Errorf("%w: packed frame: %v", ErrMalformed, err)
	}
	_, err = f.r.Discard(FrameHeaderSize + length)
	return err
}

// block is that of the packed frame which comes next, and what it unpacks to.
func (f *FrameReader) block(length int) (block []byte, size int, err error) {
	frame, err := f.r.Peek(FrameHeaderSize + length)
	if err != nil {
		return nil, 0, unexpected(err)
	}
	b := frame[FrameHeaderSize:]
	if len(b) < packedHead || binary.BigEndian.Uint32(b) > uint32(len(b)-packedHead) {
		return nil, 0, fmt.Errorf("%w: packed frame of %d bytes", ErrMalformed, length)
	}
	block = b[packedHead:][:binary.BigEndian.Uint32(b)]
	size, err = s2.DecodedLen(block)
	if err != nil || size > MaxPacked {
		return nil, 0, fmt.Errorf("%w: packed frame of %d bytes for %d", ErrMalformed, length, size)
	}
	return block, size, nil
}
