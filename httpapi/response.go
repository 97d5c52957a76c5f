package httpapi

import (
	"net/http"
	"time"
)

// response counts what is written, and gives each write a deadline of its own: a
// transfer may take as long as it likes while it makes progress, but a reader
// who never reads is dropped.
type response struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	body     *body // of the request
	status   int   // 0 until the head is sent
	bytes    int64
}

func newResponse(w http.ResponseWriter, r *http.Request, patience time.Duration) *response {
	control := http.NewResponseController(w)
	return &response{ResponseWriter: w, control: control, patience: patience, body: newBody(r, control)}
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
		w.body.settle(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes in pieces, since a large one may well take longer than a reader
// is waited for.
func (w *response) Write(p []byte) (n int, err error) {
	const piece = 64 << 10
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	for first := true; first || len(p) > 0; first = false {
		part := p[:min(len(p), piece)]
		w.hurry()
		written, err := w.ResponseWriter.Write(part)
		w.relax()
		n += written
		w.bytes += int64(written)
		if err != nil {
			return n, err
		}
		p = p[len(part):]
	}
	return n, nil
}

// FlushError sends what is buffered.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.hurry()
	defer w.relax()
	return w.control.Flush()
}

// Flush is FlushError for those who know [http.Flusher] only.
func (w *response) Flush() { _ = w.FlushError() }

// Unwrap is for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// finish comes after the handler.
func (w *response) finish(linger time.Duration) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.body.unfinished && w.FlushError() == nil {
		w.body.linger(linger)
	}
	w.hurry() // what is left in buffers goes out after this
}

func (w *response) hurry() { _ = w.control.SetWriteDeadline(time.Now().Add(w.patience)) }

// relax lifts the deadline: in HTTP/2 one that passes ends the stream, even
// while nothing is being written.
func (w *response) relax() { _ = w.control.SetWriteDeadline(time.Time{}) }
