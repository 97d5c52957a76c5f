package tools

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Streamable is the endpoint of streamable HTTP, of every protocol version that
// has it. A message is a POST, and what belongs to its answer comes in the
// response: as JSON, or, as soon as there is something to say before the end, as
// a stream. The server has nothing to say out of turn, so there is no stream to
// GET. A dropped connection cancels the call.
func (h *HTTP) Streamable() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, owner, ok := h.caller(r)
		switch {
		case !ok:
			h.refuse(w, nil, errNoOwner)
		case r.Method == http.MethodPost:
			h.post(ctx, w, r, owner)
		case r.Method == http.MethodDelete && !mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
			h.endSession(w, r, owner)
		default:
			w.Header().Set("Allow", "POST, DELETE")
			h.refuse(w, nil, refusal{http.StatusMethodNotAllowed, mcp.INVALID_REQUEST, "POST a message; this server has no stream to GET"})
		}
	})
}

func (h *HTTP) endSession(w http.ResponseWriter, r *http.Request, o manager.Owner) {
	s, no := h.session(r, o)
	if no != nil {
		h.refuse(w, nil, *no)
		return
	}
	h.sessions.end(s)
	w.WriteHeader(http.StatusNoContent)
}

func (h *HTTP) session(r *http.Request, o manager.Owner) (*session, *refusal) {
	id := r.Header.Get(server.HeaderKeySessionID)
	if id == "" {
		return nil, &errNoSession
	}
	s, ok := h.sessions.find(o, id)
	if !ok {
		return nil, &errSession
	}
	return s, nil
}

// post is one message. Since 2026-07-28 requests stand alone and a session's ID
// counts for nothing; so no cancel of such a client can reach another's call.
func (h *HTTP) post(ctx context.Context, w http.ResponseWriter, r *http.Request, o manager.Owner) {
	body, no := h.readBody(w, r)
	if no != nil {
		h.refuse(w, nil, *no)
		return
	}
	if isBatch(body) {
		h.refuse(w, nil, errBatch)
		return
	}
	var e envelope
	if json.Unmarshal(body, &e) != nil {
		h.refuse(w, nil, errNotJSON)
		return
	}
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) || mcp.IsModernProtocol(e.version()) {
		h.postModern(ctx, w, r, e, body)
		return
	}
	if e.Method == string(mcp.MethodInitialize) {
		h.initialize(ctx, w, r, o, body)
		return
	}
	s, no := h.session(r, o)
	switch {
	case no != nil:
		h.refuse(w, e.ID, *no)
	case e.Method == string(mcp.MethodNotificationCancelled):
		h.sessions.cancel(s, e.cancelledID())
		w.WriteHeader(http.StatusAccepted)
	case e.isResponse():
		s.pings.answered(string(e.ID))
		w.WriteHeader(http.StatusAccepted)
	case e.hasID():
		ctx, leave := h.sessions.enter(ctx, s, string(e.ID))
		h.answer(ctx, w, r, e.ID, body, &s.pings, leave)
	default:
		h.handle(ctx, r, body).sendTo(h.timed(w))
	}
}

func (h *HTTP) postModern(ctx context.Context, w http.ResponseWriter, r *http.Request, e envelope, body []byte) {
	switch e.Method {
	case string(mcp.MethodNotificationCancelled):
		w.WriteHeader(http.StatusAccepted) // over HTTP, such a client cancels by hanging up
	case string(mcp.MethodSubscriptionsListen):
		h.listen(ctx, w, r, e, body)
	default:
		ctx, cancel := context.WithCancel(ctx)
		h.answer(ctx, w, r, e.ID, body, nil, func() bool { cancel(); return false })
	}
}

// initialize begins a session, unless mcp-go says no.
func (h *HTTP) initialize(ctx context.Context, w http.ResponseWriter, r *http.Request, o manager.Owner, body []byte) {
	reply := h.handle(ctx, r, body)
	if reply.ok() {
		reply.header.Set(server.HeaderKeySessionID, h.sessions.begin(o).id)
	}
	reply.sendTo(h.timed(w))
}
