package httpapi

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// maxRest is how much unread body is taken in before an answer is sent, so
	// that the connection can go on; net/http would do the same, but wait for it
	// as long as it takes.
	maxRest  = 256 << 10
	restTime = time.Second
	// maxLinger is how much of a refused body is read, and dropped, afterwards.
	maxLinger = 256 << 20
)

// body is a request's body that knows whether it was read to its end. What is
// left of it must neither keep the answer back nor pass for the next request.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	// unasked: the client waits with sending until the first read (Expect).
	unasked    atomic.Bool
	ended      atomic.Bool
	unfinished bool // when the answer's head was sent
}

func newBody(r *http.Request, control *http.ResponseController) *body {
	b := &body{ReadCloser: r.Body, control: control}
	b.unasked.Store(r.Header.Get("Expect") != "")
	b.ended.Store(r.ContentLength == 0 || r.ProtoMajor != 1) // streams of HTTP/2 are apart by nature
	return b
}

func (b *body) Read(p []byte) (int, error) {
	b.unasked.Store(false)
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Store(true)
	}
	return n, err
}

// settle comes before the head of an answer. What is left is read if it is short
// and here already; else the connection closes after the answer.
func (b *body) settle(h http.Header) {
	if b.ended.Load() {
		return
	}
	if !b.unasked.Load() {
		_ = b.control.SetReadDeadline(time.Now().Add(restTime))
		_, _ = io.CopyN(io.Discard, b, maxRest)
		_ = b.control.SetReadDeadline(time.Time{})
	}
	if !b.ended.Load() {
		b.unfinished = true
		h.Set("Connection", "close")
		_ = b.control.EnableFullDuplex() // else net/http would now read it
	}
}

// linger comes after an answer that did not wait for all of the body. Many
// clients look for the answer only when they have sent everything, and one that
// is hung up on meanwhile never sees it; so what comes is read for a moment.
func (b *body) linger(limit time.Duration) {
	if !b.unfinished {
		return
	}
	if !b.unasked.Load() {
		_ = b.control.SetReadDeadline(time.Now().Add(limit))
		_, _ = io.CopyN(io.Discard, b, maxLinger)
	}
	_ = b.control.SetReadDeadline(time.Now()) // ends a read that was left behind
}
