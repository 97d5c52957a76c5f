package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ExecInBackground starts a command that goes on by itself.
func (c *Client) ExecInBackground(ctx context.Context, id schemas.SandboxID, r schemas.ExecRequest) (Answer[schemas.ExecState], error) {
	r.Background = true
	return ask[schemas.ExecState](ctx, c, request{method: http.MethodPost, path: sandboxPath(id, "/exec"), json: r})
}

// Execs are the background execs of a sandbox.
func (c *Client) Execs(ctx context.Context, id schemas.SandboxID) (Answer[schemas.ExecList], error) {
	return ask[schemas.ExecList](ctx, c, request{method: http.MethodGet, path: sandboxPath(id, "/execs")})
}

// Poll reads a background exec from a cursor on, and waits so many seconds for
// there to be something. With exact, output is base64.
func (c *Client) Poll(ctx context.Context, id schemas.SandboxID, exec schemas.ExecID, cursor string, wait int, exact bool) (Answer[schemas.ExecState], error) {
	query := url.Values{"wait_seconds": {strconv.Itoa(wait)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if exact {
		query.Set("encoding", string(schemas.EncodingBase64))
	}
	return ask[schemas.ExecState](ctx, c, request{method: http.MethodGet, path: execPath(id, exec, ""), query: query})
}

// KillExec kills a background exec with all that it started.
func (c *Client) KillExec(ctx context.Context, id schemas.SandboxID, exec schemas.ExecID) error {
	return c.do(ctx, request{method: http.MethodDelete, path: execPath(id, exec, "")})
}

// SignalExec sends a signal to a background exec.
func (c *Client) SignalExec(ctx context.Context, id schemas.SandboxID, exec schemas.ExecID, r schemas.SignalRequest) error {
	return c.do(ctx, request{method: http.MethodPost, path: execPath(id, exec, "/signal"), json: r})
}

// FindExec gives the background exec that a user means by its ID or the beginning
// of that.
func (c *Client) FindExec(ctx context.Context, id schemas.SandboxID, text string) (schemas.ExecID, error) {
	if exec, err := schemas.ParseExecID(text); err == nil {
		return exec, nil
	}
	list, err := c.Execs(ctx, id)
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(list.Value.Execs, func(e schemas.ExecInfo) bool { return !beginsID(string(e.ExecID), text) })
	switch len(found) {
	case 1:
		return found[0].ExecID, nil
	case 0:
		e := Invalid("mcp-sandbox ps "+string(id)+" lists them. Of those that have ended only the last are kept.", "no background command of %s has the ID %q", id, text)
		e.Body.Code = schemas.CodeNotFound
		return "", e
	}
	var ids []string
	for _, e := range found {
		ids = append(ids, string(e.ExecID))
	}
	return "", Invalid("Give more of the ID.", "%q may be any of: %s", text, strings.Join(ids, ", "))
}

func execPath(id schemas.SandboxID, exec schemas.ExecID, rest string) string {
	return sandboxPath(id, "/execs/"+string(exec)+rest)
}
