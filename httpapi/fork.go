package httpapi

import (
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func forkSnapshot(c *call) error {
	id, err := c.snapshotID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.ForkRequest](c, maxBody)
	if err != nil {
		return err
	}
	made, err := c.Fork(c.ctx(), c.owner, id, req)
	return c.forked(req, made, err)
}

func forkSandbox(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.ForkRequest](c, maxBody)
	if err != nil {
		return err
	}
	made, err := c.ForkSandbox(c.ctx(), c.owner, id, req)
	return c.forked(req, made, err)
}

// forked is one sandbox, or a list when the caller counts. When none at all was
// made, nothing was, and the first reason is the answer.
func (c *call) forked(req schemas.ForkRequest, made schemas.ForkResult, err error) error {
	switch {
	case err != nil:
		return err
	case len(made.Sandboxes) == 0 && len(made.Errors) > 0:
		return &refusal{body: made.Errors[0]}
	case req.Count == nil && len(made.Sandboxes) == 1:
		return c.answer(http.StatusCreated, made.Sandboxes[0], nil)
	}
	return c.answer(http.StatusCreated, made, nil)
}
