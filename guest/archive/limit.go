//go:build linux

package archive

import (
	"context"
	"fmt"
	"io"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// block is the unit that a tar is made of.
const block = 512

func roundUp(n int64) int64 { return (n + block - 1) / block * block }

func tooLarge(max int64) error {
	return &protocol.Error{Code: protocol.ErrTooLarge, Message: fmt.Sprintf("the archive is larger than the limit of %d bytes", max)}
}

// meter bounds the bytes of a tar. A negative maximum is none.
type meter struct {
	max   int64
	count int64
}

// room is an error when n more bytes are too many.
func (m *meter) room(n int64) error {
	if m.max >= 0 && n > m.max-m.count {
		return tooLarge(m.max)
	}
	return nil
}

// take counts n more bytes, if they are not too many.
func (m *meter) take(n int64) error {
	err := m.room(n)
	if err == nil {
		m.count += n
	}
	return err
}

// meteredWriter is where a tar writer writes to.
type meteredWriter struct {
	meter
	ctx context.Context
	to  io.Writer
}

func (w *meteredWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if err := w.room(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := w.to.Write(p)
	w.count += int64(n)
	return n, err
}

// meteredReader is where a tar reader reads from. It also knows how many zero
// bytes came last.
type meteredReader struct {
	meter
	from  io.Reader
	zeros int64
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err := r.room(int64(n)); err != nil {
		return 0, err
	}
	r.count += int64(n)
	if z := trailingZeros(p[:n]); z == n {
		r.zeros += int64(z)
	} else {
		r.zeros = int64(z)
	}
	return n, err
}

func trailingZeros(p []byte) int {
	n := len(p)
	for n > 0 && p[n-1] == 0 {
		n--
	}
	return len(p) - n
}

// ctxReader fails once its context has ended.
type ctxReader struct {
	ctx  context.Context
	from io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
