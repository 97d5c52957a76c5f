package guest

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// frameWriter sends output frames of several streams as one response. It is
// where back-pressure begins: a write lasts until HTTP/2's window has room.
type frameWriter struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	sendAll func() error // flushes the response
	closed  bool
	failed  error   // of sending: there is a hole from then on
	packs   bool    // where that is of use
	plain   int     // frames to send before packing is tried again
	waiting *[]byte // packed frames that more may be sent with; nil: none
}

func newFrameWriter(w http.ResponseWriter, packs bool) *frameWriter {
	return &frameWriter{w: w, sendAll: http.NewResponseController(w).Flush, packs: packs}
}

var errAnswered = errors.New("the response has ended")

// write sends a frame, for whose header the first bytes of b are left free. One
// that could be packed waits for others, or for flush: each piece that is sent
// wakes up every process on its way.
func (f *frameWriter) write(s protocol.Stream, b []byte) error {
	protocol.PutFrameHeader(b, s, len(b)-protocol.FrameHeaderSize)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.failed != nil {
		return cmp.Or(f.failed, errAnswered)
	}
	packed := f.worthPacking(s, b) && f.pack(s, b[protocol.FrameHeaderSize:])
	if packed && len(*f.waiting) < maxWaiting {
		return nil
	}
	if err := f.sendWaiting(); err != nil || packed {
		return err
	}
	if _, err := f.w.Write(b); err != nil || s == protocol.Result {
		return err // the end of the response flushes the result
	}
	return f.sendAll()
}

// pack adds a packed frame to those that wait, unless it would not be smaller.
func (f *frameWriter) pack(s protocol.Stream, payload []byte) bool {
	if f.waiting == nil {
		f.waiting = waitBuffers.Get().(*[]byte)
	}
	all := *f.waiting
	frame := protocol.Pack(all[len(all):cap(all)], s, payload)
	if frame == nil {
		f.plain = plainFrames
		return false
	}
	*f.waiting = all[:len(all)+len(frame)]
	return true
}

// flush sends what waits. Whoever writes output calls it before he waits himself.
func (f *frameWriter) flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.failed != nil {
		return cmp.Or(f.failed, errAnswered)
	}
	return f.sendWaiting()
}

func (f *frameWriter) sendWaiting() error {
	if f.waiting == nil {
		return nil
	}
	defer f.forgetWaiting()
	if len(*f.waiting) == 0 {
		return nil
	}
	if _, f.failed = f.w.Write(*f.waiting); f.failed == nil {
		f.failed = f.sendAll()
	}
	return f.failed
}

func (f *frameWriter) forgetWaiting() {
	if f.waiting != nil {
		*f.waiting = (*f.waiting)[:0]
		waitBuffers.Put(f.waiting)
		f.waiting = nil
	}
}

// maxWaiting is how many bytes of packed frames are enough to be sent.
const maxWaiting = 32 << 10

var waitBuffers = sync.Pool{New: func() any {
	buf := make([]byte, 0, maxWaiting+protocol.PackBuffer)
	return &buf
}}

const (
	minPacked   = 2 << 10 // what is smaller is one piece on its way in any case
	plainFrames = 15      // after one that could not be made smaller
)

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
	f.forgetWaiting()
}
