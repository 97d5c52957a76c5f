package tools

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// events is a response that is a stream of server-sent events. All of it is
// written at once and through one lock, so events arrive in the order in which
// they were sent. Who does not read for a while is given up: nothing waits for a
// client for ever.
type events struct {
	out timedWriter

	mu     sync.Mutex
	begun  bool
	failed error
}

func (h *HTTP) newEvents(w http.ResponseWriter) *events { return &events{out: h.timed(w)} }

// message sends a JSON-RPC message.
func (e *events) message(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.send("message", b)
}

// send sends an event, and the header before the first one.
func (e *events) send(name string, data []byte) error {
	frame := make([]byte, 0, len(name)+len(data)+20)
	frame = append(append(frame, "event: "...), name...)
	frame = append(append(frame, "\ndata: "...), bytes.TrimSpace(data)...)
	return e.write(append(frame, "\n\n"...))
}

// comment sends what clients skip: it keeps the stream alive, and finds out when
// it no longer is.
func (e *events) comment() error { return e.write([]byte(": keep-alive\n\n")) }

func (e *events) write(frame []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed != nil {
		return e.failed
	}
	if !e.begun {
		e.begun = true
		h := e.out.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // nginx and its like pass it on at once
		e.out.WriteHeader(http.StatusOK)
	}
	_, e.failed = e.out.Write(frame)
	return e.failed
}

// started tells whether the response has become a stream.
func (e *events) started() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.begun
}

// end lets nothing more be sent: the response is about to be over.
func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = http.ErrBodyNotAllowed
	}
}

// timedWriter writes through to the client, and does not wait for ever for one
// that has stopped reading.
type timedWriter struct {
	http.ResponseWriter
	rc   *http.ResponseController
	most time.Duration
}

func (h *HTTP) timed(w http.ResponseWriter) timedWriter {
	return timedWriter{w, http.NewResponseController(w), h.write}
}

// Write takes its deadline back: it would outlive the request.
func (t timedWriter) Write(p []byte) (int, error) {
	_ = t.rc.SetWriteDeadline(time.Now().Add(t.most)) // where it cannot be set, there is no connection
	defer func() { _ = t.rc.SetWriteDeadline(time.Time{}) }()
	n, err := t.ResponseWriter.Write(p)
	if err != nil {
		return n, err
	}
	return n, t.rc.Flush()
}

// beat calls f from time to time until stop has returned. That f fails ends the
// request by itself.
func (h *HTTP) beat(f func() error) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(h.keepAlive)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				_ = f()
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}
