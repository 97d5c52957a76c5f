package httpapi

import (
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func createSandbox(c *call) error {
	req, err := decode[schemas.CreateSandboxRequest](c, maxBody)
	if err != nil {
		return err
	}
	sandbox, err := c.Create(c.ctx(), c.owner, req)
	return c.answer(http.StatusCreated, sandbox, err)
}

func listSandboxes(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	list, err := c.List(c.ctx(), c.owner, page)
	return c.answer(http.StatusOK, list, err)
}

func getSandbox(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	sandbox, err := c.Get(c.ctx(), c.owner, id)
	return c.answer(http.StatusOK, sandbox, err)
}

func destroySandbox(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	return c.done(c.Destroy(c.ctx(), c.owner, id))
}

func setTimeout(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.SetTimeoutRequest](c, maxBody)
	if err != nil {
		return err
	}
	sandbox, err := c.SetTimeout(c.ctx(), c.owner, id, req)
	return c.answer(http.StatusOK, sandbox, err)
}
