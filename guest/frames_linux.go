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
}

func newFrameWriter(w http.ResponseWriter) *frameWriter {
	return &frameWriter{w: w, flush: http.NewResponseController(w).Flush}
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
	if _, err := f.w.Write(b); err != nil || s == protocol.Result {
		return err // the end of the response flushes the result
	}
	return f.flush()
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
