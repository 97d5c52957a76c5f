package guest

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// frameWriter sends output frames of several streams as one response. It is
// where back-pressure begins: a write lasts until HTTP/2's window has room.
type frameWriter struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	flush  func() error
	closed bool
	packs  bool // where that is of use
	plain  int  // frames to send before packing is tried again
}

func newFrameWriter(w http.ResponseWriter, packs bool) *frameWriter {
	return &frameWriter{w: w, flush: http.NewResponseController(w).Flush, packs: packs}
}

var errAnswered = errors.New("the response has ended")

// write sends a frame, for whose header the first bytes of b are left free.
func (f *frameWriter) write(s protocol.Stream, b []byte) error {
	protocol.PutFrameHeader(b, s, len(b)-protocol.FrameHeaderSize)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errAnswered
	}
	if f.worthPacking(s, b) {
		buf := packBuffers.Get().(*[]byte)
		defer packBuffers.Put(buf)
		if frame := protocol.Pack(*buf, s, b[protocol.FrameHeaderSize:]); frame != nil {
			b = frame
		} else {
			f.plain = plainFrames
		}
	}
	if _, err := f.w.Write(b); err != nil || s == protocol.Result {
		return err // the end of the response flushes the result
	}
	return f.flush()
}

const (
	minPacked   = 2 << 10 // what is smaller is one piece on its way in any case
	plainFrames = 15      // after one that could not be made smaller
)

var packBuffers = sync.Pool{New: func() any {
	buf := make([]byte, protocol.PackBuffer)
	return &buf
}}

func (f *frameWriter) worthPacking(s protocol.Stream, b []byte) bool {
	if !f.packs || s == protocol.Result || len(b) < minPacked {
		return false
	}
	f.plain--
	return f.plain < 0
}

// result ends the response.
func (f *frameWriter) result(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.write(protocol.Result, append(make([]byte, protocol.FrameHeaderSize), text...))
}

// close keeps readers that outlive the call away from its response.
func (f *frameWriter) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}
