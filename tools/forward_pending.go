package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// request is one that a server has been sent.
type request struct {
	id     json.RawMessage
	method string
	token  string // for its progress; empty when there is none
	line   []byte // kept where it may be sent again
	serial int
	spoke  spoken // its last progress
}

func (q *request) isCall() bool { return q.method == string(mcp.MethodToolsCall) }

var (
	// errLost: nobody can know how far the call got.
	errLost = &manager.Error{
		Kind: manager.KindUnavailable, Retryable: true,
		Message: "the server that worked on this call ended before it answered; the call may or may not have had effects",
		Hint:    "Another server takes over with all sandboxes, files and snapshots; commands that ran were ended. Look at what is there, then call again.",
	}
	errNobody = &manager.Error{
		Kind: manager.KindUnavailable, Retryable: true,
		Message: "the server has ended and no other one has taken over yet; nothing was done",
		Hint:    "Wait a little and call again, then tell the user. Sandboxes are kept.",
	}
)

// note remembers of what the client says what has to be known when the server goes.
func (r *relay) note(h header, line []byte) {
	switch {
	case h.Method == string(mcp.MethodNotificationCancelled):
		r.forget(h.Params.RequestID) // the client wants no answer any more
		return
	case h.Method == "notifications/initialized":
		r.ready = line
		return
	case !h.isRequest():
		return
	}
	q := &request{id: h.ID, method: h.Method}
	if t := h.Params.Meta.ProgressToken; t != nil {
		q.token = key(t)
	}
	if !q.isCall() {
		q.line = line
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial++
	q.serial = r.serial
	r.pending[key(q.id)] = q
	if q.method == string(mcp.MethodInitialize) {
		r.hello, r.greeted = q, false
	}
}

// forget tells which request it was; nil when none is pending with that ID.
func (r *relay) forget(id json.RawMessage) *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.pending[key(id)]
	delete(r.pending, key(id))
	return q
}

// pass gives the client a message of the server's.
func (r *relay) pass(h header, line []byte) {
	if h.isResponse() {
		if q := r.forget(h.ID); q != nil {
			r.answered(q)
		}
	} else if h.Method == string(mcp.MethodNotificationProgress) {
		r.spoke(key(h.Params.ProgressToken))
	}
	_, _ = r.out.Write(withEnd(line)) // the writer remembers a failure
}

// answered keeps the distance to the last progress, which may have been lost on
// the way.
func (r *relay) answered(q *request) {
	r.mu.Lock()
	r.greeted = r.greeted || q == r.hello
	l := listener{len(r.pending), r.unread}
	r.mu.Unlock()
	if q.spoke.since() <= settled {
		l.wait(context.Background(), &q.spoke)
	}
}

func (r *relay) spoke(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.pending {
		if q.token == token {
			q.spoke.now()
		}
	}
}

// settle answers the calls that the server left behind, and keeps the requests
// that the next one can be asked instead. It comes when the server has said its
// last.
func (r *relay) settle() {
	r.mu.Lock()
	left := slices.SortedFunc(maps.Values(r.pending), func(a, b *request) int { return cmp.Compare(a.serial, b.serial) })
	clear(r.pending)
	r.mu.Unlock()
	var again [][]byte
	for _, q := range left {
		if q.isCall() {
			r.write(unavailable(q.id, q.method, r.modern(), errLost))
		} else {
			again = append(again, q.line)
		}
	}
	r.first = append(again, r.first...)
}

// refuse answers requests that no server will be sent.
func (r *relay) refuse(lines ...[]byte) {
	for _, line := range lines {
		if h := readHeader(line); h.isRequest() {
			r.write(unavailable(h.ID, h.Method, r.modern(), errNobody))
		}
	}
}

// idle: everything was answered.
func (r *relay) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) == 0
}

// modern clients shake no hands.
func (r *relay) modern() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hello == nil
}

func (r *relay) write(message any) {
	b, err := json.Marshal(message)
	if err != nil {
		r.Log.Error("encode message", "error", err)
		return
	}
	_, _ = r.out.Write(append(b, '\n'))
}
