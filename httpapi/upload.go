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

	mu    sync.Mutex
	err   error // what reading ended with, other than io.EOF
	ended bool  // who was given it has returned, though a read may be under way
}

func (u *upload) Read(p []byte) (int, error) {
	if !u.deadline(time.Now().Add(u.patience)) {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := u.body.Read(p)
	// Lifted, since the server reads on, to notice a client that goes away.
	u.deadline(time.Time{})
	if err != nil && err != io.EOF {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.err = err
	}
	return n, err
}

// deadline is the connection's, and no longer an upload's when that has ended.
func (u *upload) deadline(at time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.ended {
		_ = u.control.SetReadDeadline(at)
	}
	return !u.ended
}

// end tells what came of an upload, and a failure of the caller's from ours.
func (u *upload) end(err error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	if err != nil && u.err != nil {
		return invalid("", "the body ended before it was complete")
	}
	return err
}

// upload is the request's body, of whatever content type. One that says to be
// too large is refused before it is read; a client that asked (Expect:
// 100-continue) then need not send it.
func (c *call) upload(what string, limit int64) (*upload, error) {
	if c.r.ContentLength > limit {
		return nil, tooLarge(what, limit)
	}
	return &upload{body: c.r.Body, control: c.w.control, patience: c.times.patience}, nil
}
