package httpapi

import (
	"net/http"
	"strconv"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// The background execs of a sandbox.

func listExecs(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	list, err := c.ListExecs(c.ctx(), c.owner, id)
	return c.answer(http.StatusOK, list, err)
}

func pollExec(c *call) error {
	id, exec, err := c.execID()
	if err != nil {
		return err
	}
	p, err := c.poll()
	if err != nil {
		return err
	}
	state, err := c.PollExec(c.ctx(), c.owner, id, exec, p)
	return c.answer(http.StatusOK, state, err)
}

func inputExec(c *call) error {
	id, exec, err := c.execID()
	if err != nil {
		return err
	}
	end, err := c.flag("close")
	if err != nil {
		return err
	}
	data, err := c.readBody(maxInput)
	if err != nil {
		return err
	}
	return c.done(c.InputExec(c.ctx(), c.owner, id, exec, data, end))
}

func signalExec(c *call) error {
	id, exec, err := c.execID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.SignalRequest](c, maxBody)
	if err != nil {
		return err
	}
	return c.done(c.SignalExec(c.ctx(), c.owner, id, exec, req))
}

func killExec(c *call) error {
	id, exec, err := c.execID()
	if err != nil {
		return err
	}
	return c.done(c.KillExec(c.ctx(), c.owner, id, exec))
}

// execID is the sandbox and the exec in the path.
func (c *call) execID() (schemas.SandboxID, schemas.ExecID, error) {
	id, err := c.sandboxID()
	if err != nil {
		return "", "", err
	}
	exec, err := schemas.ParseExecID(c.r.PathValue("exec_id"))
	if err != nil {
		return "", "", invalid("exec_id", "%v", err)
	}
	return id, exec, nil
}

// poll is what the query says to read. Ranges are the manager's to check.
func (c *call) poll() (p schemas.ExecPoll, err error) {
	p.Cursor, p.Encoding = c.query.Get("cursor"), schemas.Encoding(c.query.Get("encoding"))
	if c.query.Has("wait_seconds") {
		seconds, err := strconv.ParseFloat(c.query.Get("wait_seconds"), 64)
		if err != nil {
			return p, invalid("wait_seconds", "must be a number")
		}
		p.WaitSeconds = &seconds
	}
	if c.query.Has("max_output_bytes") {
		n, err := strconv.ParseInt(c.query.Get("max_output_bytes"), 10, 64)
		if err != nil {
			return p, invalid("max_output_bytes", "must be a whole number")
		}
		p.MaxOutputBytes = &n
	}
	return p, nil
}
