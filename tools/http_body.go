package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// refusal is a request that is refused before anybody looks at its message.
type refusal struct {
	status int
	code   int // of JSON-RPC
	text   string
}

// refuse answers with a JSON-RPC error, which MCP clients can show.
func (h *HTTP) refuse(w http.ResponseWriter, id json.RawMessage, why refusal) {
	newRefusal(id, why).sendTo(h.timed(w))
}

var (
	errNoOwner     = refusal{http.StatusUnauthorized, mcp.INVALID_REQUEST, "no key names an owner for the request"}
	errContentType = refusal{http.StatusUnsupportedMediaType, mcp.INVALID_REQUEST, "Content-Type must be application/json"}
	errNotJSON     = refusal{http.StatusBadRequest, mcp.PARSE_ERROR, "the body is not a JSON-RPC message"}
	errBatch       = refusal{http.StatusBadRequest, mcp.INVALID_REQUEST, batchRefused}
	errNoSession   = refusal{http.StatusBadRequest, mcp.INVALID_REQUEST, "the Mcp-Session-Id header is missing: initialize first"}
	errSession     = refusal{http.StatusNotFound, mcp.INVALID_REQUEST, "no such session: it has ended, or was idle for long; initialize anew"}
	errTooMany     = refusal{http.StatusTooManyRequests, mcp.INTERNAL_ERROR, "too many streams at once; close one"}
)

// readBody takes the message of a POST, which is bounded in size, and in how
// long its sender may pause.
func (h *HTTP) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &errContentType
	}
	rc := http.NewResponseController(w)
	body, err := io.ReadAll(&patient{h.bodyPause, http.MaxBytesReader(w, r.Body, h.body), rc})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &refusal{http.StatusRequestEntityTooLarge, mcp.INVALID_REQUEST, fmt.Sprintf("message is longer than %d bytes", h.body)}
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, mcp.PARSE_ERROR, "the body ended early, or stalled"}
	}
	_ = rc.SetReadDeadline(time.Time{}) // after an error it stays: net/http would wait for the rest
	return body, nil
}

// patient reads a body whose sender may be slow, but not silent.
type patient struct {
	most time.Duration
	r    io.Reader
	rc   *http.ResponseController
}

func (p *patient) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(time.Now().Add(p.most))
	return p.r.Read(b)
}
