package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// box makes a sandbox that stays until the end.
func (r *rig) box(c *client.Client) (box schemas.Sandbox, err error) {
	return box, c.Call(r.ctx, "sandbox_create", args{"timeout_seconds": 7200}, &box)
}

// boxAndModel makes a sandbox and finds its container, for Docker's own calls.
func (r *rig) boxAndModel(c *client.Client) (box schemas.Sandbox, model about, err error) {
	if box, err = r.box(c); err != nil {
		return box, model, err
	}
	model, err = r.docker.find(r.ctx, string(box.ID))
	return box, model, err
}

func (r *rig) run(c *client.Client, id schemas.SandboxID, argv ...string) error {
	return r.exitOK(c, args{"sandbox_id": id, "argv": argv})
}

func (r *rig) sh(c *client.Client, id schemas.SandboxID, line string) error {
	return r.exitOK(c, args{"sandbox_id": id, "command": line, "timeout_seconds": 600})
}

func (r *rig) exitOK(c *client.Client, a args) error {
	var result schemas.ExecResult
	if err := c.Call(r.ctx, "exec", a, &result); err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("%v: exit code %d: %s", a, result.ExitCode, result.Stderr)
	}
	return nil
}

// remove destroys a sandbox and waits until nothing of it is left, which would
// otherwise weigh on what is measured next.
func (r *rig) remove(c *client.Client, id schemas.SandboxID) error {
	if err := r.destroyBox(c, id); err != nil {
		return err
	}
	return r.awaitGone(c)
}

func (r *rig) destroyBox(c *client.Client, id schemas.SandboxID) error {
	return c.Call(r.ctx, "sandbox_destroy", args{"sandbox_id": id}, nil)
}

// awaitPool waits until a server's pool is full.
func (r *rig) awaitPool(c *client.Client, spares int) error {
	return r.awaitMetric(c, "mcp_sandbox_pool_ready", spares)
}

// awaitGone waits until all that was destroyed is removed.
func (r *rig) awaitGone(c *client.Client) error {
	return r.awaitMetric(c, "mcp_sandbox_sandboxes_condemned", 0)
}

func (r *rig) awaitMetric(c *client.Client, name string, value int) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var text strings.Builder
		if err := r.http(c, "GET", "/metrics", nil, &text); err != nil {
			return err
		}
		if strings.Contains(text.String(), fmt.Sprintf("\n%s %d\n", name, value)) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not %d within a minute", name, value)
		}
	}
}

// http makes a call of /v1 and copies the answer.
func (r *rig) http(c *client.Client, method, path string, body io.Reader, into io.Writer) error {
	req, err := c.Request(r.ctx, method, path, body)
	if err != nil {
		return err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("%s %s: %s %s", method, path, resp.Status, text)
	}
	_, err = io.Copy(into, resp.Body)
	return err
}

// drain runs a command by exec or exec/stream and takes in its output as it is:
// what it costs to parse that is the client's matter, on all sides.
func (r *rig) drain(c *client.Client, id schemas.SandboxID, call, line string, size int) error {
	var n counter
	var last tail
	request := strings.NewReader(fmt.Sprintf(`{"command":%q,"timeout_seconds":600}`, line))
	if err := r.http(c, "POST", "/v1/sandboxes/"+string(id)+"/"+call, request, io.MultiWriter(&n, &last)); err != nil {
		return err
	}
	if end := fmt.Sprintf(`"stdout_bytes":%d,`, size); int(n) < size || !strings.Contains(string(last), end) {
		return fmt.Errorf("got %d bytes, ending in %s", n, last)
	}
	return nil
}

// tail keeps the last bytes that are written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	const keep = 300
	*t = append(*t, p[max(0, len(p)-keep):]...)
	*t = append(tail(nil), (*t)[max(0, len(*t)-keep):]...)
	return len(p), nil
}

// streamed runs a command by exec/stream; each gets the events.
func (r *rig) streamed(c *client.Client, id schemas.SandboxID, line string, each func(client.Event)) error {
	req, err := c.Request(r.ctx, "POST", "/v1/sandboxes/"+string(id)+"/exec/stream", strings.NewReader(fmt.Sprintf(`{"command":%q,"timeout_seconds":600}`, line)))
	if err != nil {
		return err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("exec/stream: %s", resp.Status)
	}
	return client.Events(resp.Body, each)
}
