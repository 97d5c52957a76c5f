package client

import (
	"fmt"
	"io"
	"sync"
)

// requestBody is parameters and then the payload. It remembers an error of the
// payload's reader, which HTTP/2 would only report as a cancelled stream. The
// guest sees such a stream as broken, never as ended.
type requestBody struct {
	params  []byte
	payload io.Reader

	mu     sync.Mutex
	err    error
	closed bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	if len(b.params) > 0 {
		n := copy(p, b.params)
		b.params = b.params[n:]
		return n, nil
	}
	if b.payload == nil {
		return 0, io.EOF
	}
	n, err := b.payload.Read(p)
	if err != nil && err != io.EOF {
		b.note(err)
	}
	return n, err
}

// note keeps the first error, but not one that comes after Close, when the
// transport has lost interest and a reader may well have been closed.
func (b *requestBody) note(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil && !b.closed {
		b.err = fmt.Errorf("read input: %w", err)
	}
}

func (b *requestBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Close comes from the transport. The payload belongs to the caller and may be
// blocked in a Read, so it is left alone.
func (b *requestBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}
