package tools

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// SSE is the stream of the older HTTP transport: all that the server says to one
// client. Who holds it open is the client, so when it ends, its calls do.
func (h *HTTP) SSE() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, owner, ok := h.caller(r)
		switch {
		case !ok:
			h.refuse(w, nil, errNoOwner)
			return
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", "GET")
			h.refuse(w, nil, refusal{http.StatusMethodNotAllowed, mcp.INVALID_REQUEST, "GET the stream; messages are POSTed to the endpoint that it names"})
			return
		}
		h.serveSSE(ctx, w, owner)
	})
}

func (h *HTTP) serveSSE(ctx context.Context, w http.ResponseWriter, o manager.Owner) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := h.newEvents(w)
	defer out.end()
	broken := make(chan struct{})
	breaks := sync.OnceFunc(func() { close(broken) })
	sent := func(err error) error {
		if err != nil {
			breaks()
		}
		return err
	}
	s := &stream{id: rand.Text(), owner: o}
	s.conn = newConn(h.srv, s.id, h.log, func(message any) { _ = sent(out.message(message)) }, nil)
	s.ctx = s.conn.context(ctx)
	if !h.streams.open(s) {
		h.refuse(w, nil, errTooMany)
		return
	}
	defer h.streams.drop(s)
	if sent(out.send("endpoint", []byte(MessagePath+"?sessionId="+s.id))) != nil {
		return
	}
	defer h.beat(func() error { return sent(out.comment()) })()

	select {
	case <-h.closing.Done():
	case <-ctx.Done(): // the client has gone
		breaks()
	case <-broken:
	}
	s.conn.finish(broken, h.ending, cancel)
}

// Message takes what the client of an SSE stream has to say. The answer comes on
// the stream.
func (h *HTTP) Message() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, owner, ok := h.caller(r)
		id := r.URL.Query().Get("sessionId")
		switch {
		case !ok:
			h.refuse(w, nil, errNoOwner)
			return
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", "POST")
			h.refuse(w, nil, refusal{http.StatusMethodNotAllowed, mcp.INVALID_REQUEST, "POST a message; GET the stream first"})
			return
		case id == "":
			h.refuse(w, nil, refusal{http.StatusBadRequest, mcp.INVALID_REQUEST, "sessionId is missing: GET the stream first, it names the endpoint"})
			return
		}
		body, no := h.readBody(w, r)
		if no != nil {
			h.refuse(w, nil, *no)
			return
		}
		s, ok := h.streams.find(owner, id)
		if !ok {
			h.refuse(w, readEnvelope(body).ID, errSession)
			return
		}
		s.conn.dispatch(s.ctx, body)
		w.WriteHeader(http.StatusAccepted)
	})
}
