package httpapi

import (
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func writeFile(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	path, err := c.path("")
	if err != nil {
		return err
	}
	body, err := c.upload("the file", c.Config().MaxFileBytes)
	if err != nil {
		return err
	}
	info, err := c.WriteFile(c.ctx(), c.owner, id, path, c.query.Get("mode"), body)
	return c.answer(http.StatusOK, info, body.end(err))
}

func deleteFile(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	path, err := c.path("")
	if err != nil {
		return err
	}
	recursive, err := c.flag("recursive")
	if err != nil {
		return err
	}
	return c.done(c.DeleteFile(c.ctx(), c.owner, id, path, recursive))
}

func listFiles(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	path, err := c.path(manager.Workspace)
	if err != nil {
		return err
	}
	page, err := c.page()
	if err != nil {
		return err
	}
	list, err := c.ListFiles(c.ctx(), c.owner, id, path, page)
	return c.answer(http.StatusOK, list, err)
}

func makeDir(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.MkdirRequest](c, maxBody)
	if err != nil {
		return err
	}
	path, err := either("path", req.Path, req.PathBase64)
	if err != nil {
		return err
	}
	info, err := c.Mkdir(c.ctx(), c.owner, id, path)
	return c.answer(http.StatusOK, info, err)
}

func moveFile(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.MoveRequest](c, maxBody)
	if err != nil {
		return err
	}
	from, err := either("from", req.From, req.FromBase64)
	if err != nil {
		return err
	}
	to, err := either("to", req.To, req.ToBase64)
	if err != nil {
		return err
	}
	info, err := c.MoveFile(c.ctx(), c.owner, id, from, to)
	return c.answer(http.StatusOK, info, err)
}

// either is a path of a body, in one of its two forms.
func either(field, text, encoded string) (string, error) {
	switch {
	case text != "" && encoded != "":
		return "", invalid(field, "must not be given together with %s_base64", field)
	case encoded != "":
		return fromBase64(field+"_base64", encoded)
	case text == "":
		return "", invalid(field, "is required")
	}
	return text, nil
}
