package httpapi

import (
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func takeSnapshot(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.SnapshotRequest](c, maxBody)
	if err != nil {
		return err
	}
	snapshot, err := c.Snapshot(c.ctx(), c.owner, id, req)
	return c.answer(http.StatusCreated, snapshot, err)
}

func rollback(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.RollbackRequest](c, maxBody)
	if err != nil {
		return err
	}
	sandbox, err := c.Rollback(c.ctx(), c.owner, id, req)
	return c.answer(http.StatusOK, sandbox, err)
}

func listSnapshots(c *call) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	var of schemas.SandboxID
	if c.query.Has("sandbox_id") {
		if of, err = schemas.ParseSandboxID(c.query.Get("sandbox_id")); err != nil {
			return invalid("sandbox_id", "%v", err)
		}
	}
	list, err := c.ListSnapshots(c.ctx(), c.owner, of, page)
	return c.answer(http.StatusOK, list, err)
}

func getSnapshot(c *call) error {
	id, err := c.snapshotID()
	if err != nil {
		return err
	}
	snapshot, err := c.GetSnapshot(c.ctx(), c.owner, id)
	return c.answer(http.StatusOK, snapshot, err)
}

func deleteSnapshot(c *call) error {
	id, err := c.snapshotID()
	if err != nil {
		return err
	}
	return c.done(c.DeleteSnapshot(c.ctx(), c.owner, id))
}
