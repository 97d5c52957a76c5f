package tools

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// reply takes a response from mcp-go as a whole. Because it says that it cannot
// stream, mcp-go answers with one JSON message, and sends nothing on the way;
// notifications take the way of [events].
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newReply() *reply { return &reply{header: http.Header{}, status: http.StatusOK} }

func newRefusal(id json.RawMessage, why refusal) *reply {
	r := newReply()
	r.header.Set("Content-Type", "application/json")
	r.status = why.status
	_ = json.NewEncoder(&r.body).Encode(rpcError(id, why.code, why.text))
	return r
}

func (r *reply) Header() http.Header         { return r.header }
func (r *reply) WriteHeader(status int)      { r.status = status }
func (r *reply) Write(p []byte) (int, error) { return r.body.Write(p) }
func (r *reply) Flush()                      {}
func (r *reply) CanStream() bool             { return false }

// sendTo writes the response where nothing was written yet.
func (r *reply) sendTo(w timedWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(r.body.Len()))
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes())
}

// ok tells whether it is the result of a request.
func (r *reply) ok() bool {
	var m struct{ Result json.RawMessage }
	return json.Unmarshal(r.body.Bytes(), &m) == nil && m.Result != nil
}

// none tells whether mcp-go has written nothing at all.
func (r *reply) none() bool { return r.status == http.StatusOK && r.body.Len() == 0 }
