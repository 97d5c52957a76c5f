package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// call is one request of a route, on its way through the door.
type call struct {
	*server
	core
	w     *response
	r     *http.Request
	owner manager.Owner
	query url.Values // only what the route knows, each at most once
}

func (c *call) ctx() context.Context { return c.r.Context() }

// sandboxID is the sandbox in the path.
func (c *call) sandboxID() (schemas.SandboxID, error) {
	id, err := schemas.ParseSandboxID(c.r.PathValue("id"))
	if err != nil {
		return "", invalid("id", "%v", err)
	}
	return id, nil
}

// snapshotID is the snapshot in the path.
func (c *call) snapshotID() (schemas.SnapshotID, error) {
	id, err := schemas.ParseSnapshotID(c.r.PathValue("id"))
	if err != nil {
		return "", invalid("id", "%v", err)
	}
	return id, nil
}

// answer renders a result, or passes on why there is none. A failure to write
// it is nobody's to hear of.
func (c *call) answer(status int, v any, err error) error {
	if err != nil {
		return err
	}
	b, err := encode(v)
	if err != nil {
		return err
	}
	writeJSON(c.w, status, b)
	return nil
}

// done is the answer of a call that has nothing to say.
func (c *call) done(err error) error {
	if err == nil {
		c.w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// encode is v as a line of JSON. Output often has <, > and &; it is not HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := encodeTo(&b, v)
	return b.Bytes(), err
}

func encodeTo(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
