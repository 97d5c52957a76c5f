package httpapi

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// upload is a body of raw bytes on its way in. Each read has a deadline of its
// own, so that an upload may take long but not stand still.
type upload struct {
	body     io.Reader
	control  *http.ResponseController
	patience time.Duration

	mu  sync.Mutex
	err error // what reading ended with, other than io.EOF
}

func (u *upload) Read(p []byte) (int, error) {
	_ = u.control.SetReadDeadline(time.Now().Add(u.patience))
	n, err := u.body.Read(p)
	// Lifted, since the server reads on, to notice a client that goes away.
	_ = u.control.SetReadDeadline(time.Time{})
	if err != nil && err != io.EOF {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.err = err
	}
	return n, err
}

// explain tells a failure of the caller's from one of ours.
func (u *upload) explain(err error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil && u.err != nil {
		return invalid("", "the body ended before it was complete")
	}
	return err
}

// receive takes the request's body, of whatever content type. One that says to
// be too large is refused before it is read; a client that asked (Expect:
// 100-continue) then need not send it.
func (c *call) receive(what string, limit int64, take func(*upload) error) error {
	if c.r.ContentLength > limit {
		return c.refuseUpload(tooLarge(what, limit))
	}
	control := http.NewResponseController(c.w)
	err := take(&upload{body: c.r.Body, control: control, patience: c.times.patience})
	if err != nil {
		return c.refuseUpload(err)
	}
	return nil
}

// refuseUpload answers before the body has been read to its end. Many clients
// look for the answer only when they have sent everything, and one that hung up
// on gets no answer at all; so what comes is read for a moment, and dropped.
// Then the connection closes: what still comes on it is no request.
func (c *call) refuseUpload(err error) error {
	control := http.NewResponseController(c.w)
	_ = control.EnableFullDuplex() // else writing the answer would read the body first
	c.w.Header().Set("Connection", "close")
	c.fail(c.w, c.r, err)
	_ = c.w.FlushError()
	if c.r.Header.Get("Expect") == "" {
		_ = control.SetReadDeadline(time.Now().Add(c.times.linger))
		_, _ = io.CopyN(io.Discard, c.r.Body, maxLinger)
	}
	_ = control.SetReadDeadline(time.Now()) // ends a read that was left behind
	return nil
}

const maxLinger = 256 << 20
