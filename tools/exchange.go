package tools

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// exchange is one request on its way through mcp-go, which loses some of what is
// said: it reads numbers as float64, so that an ID or a progress token beyond 2^53
// comes back as another one; and it makes an internal error of every failure of a
// resource, a prompt or a completion.
type exchange struct {
	id     json.RawMessage          // which mcp-go was not given; nil when it was
	token  json.RawMessage          // likewise, of progress
	failed *mcp.JSONRPCErrorDetails // what a handler says of its failure
}

type exchangeKey struct{}

// beginExchange returns what mcp-go is to see of a message.
func beginExchange(ctx context.Context, id json.RawMessage, message []byte) (context.Context, []byte, *exchange) {
	x := &exchange{}
	if bytes.Contains(message, []byte(`"progressToken"`)) {
		if token := readHeader(message).Params.Meta.ProgressToken; rounded(token) {
			x.token = token
		}
	}
	if rounded(id) {
		x.id = id
		message = withMember(message, "id", json.RawMessage(`"`+string(id)+`"`))
	}
	return context.WithValue(ctx, exchangeKey{}, x), message, x
}

// mends tells whether the response has to pass through mend.
func (x *exchange) mends() bool { return x.id != nil || x.failed != nil }

// mend gives a response what was lost.
func (x *exchange) mend(response []byte) []byte {
	if x.id != nil {
		response = withMember(response, "id", x.id)
	}
	var m struct{ Error json.RawMessage }
	if x.failed != nil && json.Unmarshal(response, &m) == nil && m.Error != nil {
		if b, err := json.Marshal(x.failed); err == nil {
			response = withMember(response, "error", b)
		}
	}
	return response
}

// withMember is a JSON object with another value of one member.
func withMember(object []byte, name string, value json.RawMessage) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return object
	}
	members[name] = value
	b, err := json.Marshal(members)
	if err != nil {
		return object
	}
	return b
}

// rounded tells whether a JSON number is a whole one that float64 cannot hold, or
// is written otherwise when it has been one.
func rounded(raw json.RawMessage) bool {
	digits := bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("-"))
	if len(digits) < 16 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return false
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil {
		return true // beyond float64
	}
	b, err := json.Marshal(f)
	return err != nil || !bytes.Equal(b, bytes.TrimSpace(raw))
}
