package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// eventStream is a response of one JSON object a line. Each line is sent at
// once, and writing blocks while the reader is slow: nothing is kept here.
type eventStream struct {
	w     *response
	times times

	mu   sync.Mutex // held while writing
	last time.Time  // when something was written
	line bytes.Buffer
}

func newEventStream(w *response, t times) *eventStream {
	return &eventStream{w: w, times: t, last: time.Now()}
}

func (s *eventStream) send(event any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Reset()
	if err := encodeTo(&s.line, event); err != nil {
		return err
	}
	return s.write(s.line.Bytes())
}

// sendOutput is send for what there is most of: a command's output, as text or,
// encoded, as any bytes.
func (s *eventStream) sendOutput(of schemas.Stream, data []byte, e schemas.Encoding) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Reset()
	s.line.Grow(len(data) + len(data)/2 + 64)
	s.line.Write(appendOutput(s.line.AvailableBuffer(), of, data, e))
	return s.write(s.line.Bytes())
}

// appendOutput appends a schemas.OutputEvent as a line.
func appendOutput(b []byte, of schemas.Stream, data []byte, e schemas.Encoding) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, of...)
	b = append(b, `","data":`...)
	if e == schemas.EncodingBase64 {
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, data)
		return append(b, "\",\"encoding\":\"base64\"}\n"...)
	}
	b = appendText(b, data)
	return append(b, "}\n"...)
}

// write is called with the lock held. With nothing to write it sends the head.
func (s *eventStream) write(line []byte) error {
	if s.w.status == 0 {
		s.w.Header().Set("Content-Type", "application/x-ndjson")
		s.w.Header().Set("X-Accel-Buffering", "no") // nginx would keep lines back
		s.w.WriteHeader(http.StatusOK)
	}
	if len(line) > 0 {
		if _, err := s.w.Write(line); err != nil {
			return err
		}
	}
	err := s.w.FlushError()
	s.last = time.Now()
	return err
}

// begun: it is too late for another status.
func (s *eventStream) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.status != 0
}

// beat keeps proxies awake that drop idle connections. A blank line is no event.
// The head goes out sooner than the first one: a client may wait for it.
func (s *eventStream) beat(ctx context.Context) {
	timer := time.NewTimer(s.times.begin)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(s.fillSilence())
		}
	}
}

// fillSilence returns when to look again.
func (s *eventStream) fillSilence() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w.status == 0 {
		_ = s.write(nil)
		return s.times.heartbeat
	}
	if quiet := time.Since(s.last); quiet < s.times.heartbeat {
		return s.times.heartbeat - quiet
	}
	_ = s.write([]byte("\n")) // a broken connection ends the call by itself
	return s.times.heartbeat
}
