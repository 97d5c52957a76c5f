//go:build linux

package archive

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// window is how far back compression looks. A sandbox may have 16 MiB of
	// memory in all, and a larger window gains little on source trees.
	window = 512 << 10
	// ioBuffer gathers the small writes of a tar writer.
	ioBuffer = 64 << 10
)

// compressed gives a writer to w, and what must be called to complete it.
func compressed(w io.Writer, on bool) (io.Writer, func() error, error) {
	if !on {
		buf := bufio.NewWriterSize(w, ioBuffer)
		return buf, buf.Flush, nil
	}
	enc, err := zstd.NewWriter(w,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(window))
	if err != nil {
		return nil, nil, err
	}
	return enc, enc.Close, nil
}

// decompressed gives a reader of r, and what must be called in the end.
func decompressed(r io.Reader, on bool) (io.Reader, func(), error) {
	if !on {
		return bufio.NewReaderSize(r, ioBuffer), func() {}, nil
	}
	dec, err := zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecodeBuffersBelow(0),
		zstd.WithDecoderMaxWindow(MaxWindow))
	if err != nil {
		return nil, nil, err
	}
	return dec, dec.Close, nil
}
