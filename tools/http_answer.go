package tools

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// answer handles a request. Its progress, and signs of life when it is long in
// coming, go before the response on the same stream, if the client takes one.
func (h *HTTP) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, id json.RawMessage, body []byte, p *pings, leave func() (cancelled bool)) {
	defer leave() // also when mcp-go panics
	stream := h.newEvents(w)
	defer stream.end()
	owner, _ := ownerOf(ctx)
	h.crowds.enter(owner)
	defer h.crowds.leave(owner)
	var spoke spoken
	reply := h.alive(ctx, r, body, stream, &spoke)
	p.settle(ctx, &spoke, listener{calls: h.crowds.count(owner)}, stream.message)
	unwanted := leave()
	if reply.none() && !unwanted { // mcp-go says nothing once ctx is done
		reply = newRefusal(id, errSession)
	}
	switch {
	case stream.started() && unwanted:
	case stream.started():
		_ = stream.send("message", reply.body.Bytes()) // what fails here has no one to tell
	case unwanted:
		w.WriteHeader(http.StatusAccepted)
	default:
		reply.sendTo(h.timed(w))
	}
}

// alive handles a request whose client hears from it meanwhile.
func (h *HTTP) alive(ctx context.Context, r *http.Request, body []byte, stream *events, spoke *spoken) *reply {
	if !takesEvents(r) { // then nobody has to send it notifications
		return h.handle(WithNotifier(ctx, func(context.Context, string, map[string]any) error { return nil }), r, body)
	}
	defer h.beat(stream.comment)()
	return h.handle(WithNotifier(ctx, func(_ context.Context, method string, params map[string]any) error {
		defer spoke.now()
		return stream.message(Notification(method, params))
	}), r, body)
}

// handle is mcp-go's part. Tools catch their own panics, and the server in front
// those of others.
func (h *HTTP) handle(ctx context.Context, r *http.Request, body []byte) *reply {
	reply := newReply()
	ctx, body, x := beginExchange(ctx, readEnvelope(body).ID, body)
	h.rpc.Handle(reply, rpcRequest(ctx, r, body))
	if x.mends() && !reply.none() {
		mended := x.mend(reply.body.Bytes())
		reply.body.Reset()
		reply.body.Write(mended)
		if x.failed != nil && x.failed.Code == mcp.INVALID_PARAMS && mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
			reply.status = http.StatusBadRequest // as that version wants it
		}
	}
	return reply
}

// listen answers a client that asks to be told of changes: there will be none,
// as this server's lists never change, so its stream ends at once. mcp-go checks
// the request; its acknowledgement can get lost, so it is ours.
func (h *HTTP) listen(ctx context.Context, w http.ResponseWriter, r *http.Request, e envelope, body []byte) {
	reply := h.handle(ctx, r, body)
	if !reply.ok() {
		reply.sendTo(h.timed(w))
		return
	}
	stream := h.newEvents(w)
	_ = stream.message(Notification(mcp.MethodNotificationSubscriptionsAcknowledged, map[string]any{
		"_meta":         map[string]any{mcp.MetaKeySubscriptionID: e.ID},
		"notifications": map[string]any{},
	}))
	_ = stream.send("message", reply.body.Bytes())
}

func rpcRequest(ctx context.Context, r *http.Request, body []byte) *server.HTTPRequest {
	return &server.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Context: ctx}
}

func takesEvents(r *http.Request) bool {
	for _, accept := range r.Header.Values("Accept") {
		if strings.Contains(accept, "text/event-stream") {
			return true
		}
	}
	return false
}
