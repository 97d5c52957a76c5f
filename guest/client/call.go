package client

import (
	"context"
	"io"
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// start makes one call and returns its response once the guest accepted it; the
// caller closes the response. payload follows the parameters and may be nil.
func (c *Client) start(ctx context.Context, path string, params any, payload io.Reader) (*response, error) {
	frame, err := protocol.EncodeParams(params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &response{ctx: ctx, cancel: cancel, body: &requestBody{params: frame, payload: payload}}
	// When the channel dies the call ends at once, whatever it waits for.
	r.unwatch = context.AfterFunc(c.conn.ctx, func() { cancel(c.conn.err()) })
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://guest"+path, r.body)
	if err != nil {
		r.close()
		return nil, err
	}
	if payload == nil {
		req.ContentLength = int64(len(frame))
	}
	if r.http, err = c.http.RoundTrip(req); err != nil {
		defer r.close()
		return nil, r.fail(c.conn.explain(err))
	}
	if r.http.StatusCode != http.StatusOK {
		defer r.close()
		return nil, r.fail(responseError(r.http))
	}
	return r, nil
}

// response is a call that the guest has accepted.
type response struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	unwatch func() bool
	body    *requestBody
	http    *http.Response
}

func (r *response) close() {
	r.cancel(context.Canceled)
	r.unwatch()
	if r.http != nil {
		r.http.Body.Close()
	}
}

// fail says why a call ended early: the payload's reader, the caller or the
// channel, in this order, because each causes those after it.
func (r *response) fail(err error) error {
	if source := r.body.failure(); source != nil {
		return source
	}
	return lost(r.ctx, err)
}

var errTrailing = malformed("bytes after the end of a response")

// finish checks that nothing follows the response and that nothing cut it short.
func (r *response) finish() error {
	n, err := io.CopyN(io.Discard, r.http.Body, 1)
	if n > 0 {
		return errTrailing
	}
	if err != io.EOF {
		return r.fail(err)
	}
	return trailerError(r.http)
}

// call makes a call whose answer is a small JSON value.
func (c *Client) call(ctx context.Context, path string, params any, payload io.Reader, answer any) error {
	text, err := c.text(ctx, path, params, payload, maxJSON)
	if err != nil {
		return err
	}
	return decode(text, answer)
}

// text makes a call and returns its answer, which must not exceed limit.
func (c *Client) text(ctx context.Context, path string, params any, payload io.Reader, limit int64) ([]byte, error) {
	r, err := c.start(ctx, path, params, payload)
	if err != nil {
		return nil, err
	}
	defer r.close()
	text, err := io.ReadAll(io.LimitReader(r.http.Body, limit+1))
	if err != nil {
		return nil, r.fail(err)
	}
	if int64(len(text)) > limit {
		return nil, malformed("an answer of more than %d bytes", limit)
	}
	return text, nil
}

// upload makes a call with a large payload. Few run at once, so that uploads
// which wait inside the guest can never use up the connection's window.
func (c *Client) upload(ctx context.Context, path string, params any, payload io.Reader, answer any) error {
	select {
	case c.uploads <- struct{}{}:
		defer func() { <-c.uploads }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.conn.ctx.Done():
		return c.conn.err()
	}
	return c.call(ctx, path, params, payload, answer)
}
