package httpapi

import (
	"io"
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func readArchive(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	path, err := c.path(manager.Workspace)
	if err != nil {
		return err
	}
	if c.r.Method == http.MethodHead {
		return c.headArchive(id, path)
	}
	return c.sendTar(func(w io.Writer) error { return c.ReadArchive(c.ctx(), c.owner, id, path, w) })
}

// headArchive does not make a tar for nobody.
func (c *call) headArchive(id schemas.SandboxID, path string) error {
	if _, err := c.ListFiles(c.ctx(), c.owner, id, path, schemas.Page{Limit: 1}); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", tarball.mediaType)
	c.w.WriteHeader(http.StatusOK)
	return nil
}

func writeArchive(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	path, err := c.path(manager.Workspace)
	if err != nil {
		return err
	}
	body, err := c.upload("the archive", c.Config().MaxSnapshotBytes)
	if err != nil {
		return err
	}
	return c.done(body.end(c.WriteArchive(c.ctx(), c.owner, id, path, body)))
}

func exportSnapshot(c *call) error {
	id, err := c.snapshotID()
	if err != nil {
		return err
	}
	if c.r.Method == http.MethodHead {
		if _, err := c.GetSnapshot(c.ctx(), c.owner, id); err != nil {
			return err
		}
		c.w.Header().Set("Content-Type", tarball.mediaType)
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	return c.sendTar(func(w io.Writer) error { return c.ExportSnapshot(c.ctx(), c.owner, id, w) })
}

func importSnapshot(c *call) error {
	body, err := c.upload("the archive", c.Config().MaxSnapshotBytes)
	if err != nil {
		return err
	}
	made, err := c.ImportSnapshot(c.ctx(), c.owner, c.query.Get("name"), c.query.Get("image"), body)
	return c.answer(http.StatusCreated, made, body.end(err))
}

// sendTar streams a tar. As long as not a byte of it is there, an error is an
// ordinary answer; after that the connection breaks.
func (c *call) sendTar(write func(io.Writer) error) error {
	c.w.Header().Set("Content-Type", tarball.mediaType)
	err := write(c.w)
	if err != nil && c.w.status != 0 {
		c.logFailure(c.r, public(err).Code, err)
		panic(http.ErrAbortHandler)
	}
	return err
}
