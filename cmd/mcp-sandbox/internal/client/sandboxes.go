package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Create makes a sandbox.
func (c *Client) Create(ctx context.Context, r schemas.CreateSandboxRequest) (Answer[schemas.Sandbox], error) {
	return ask[schemas.Sandbox](ctx, c, request{method: http.MethodPost, path: "/v1/sandboxes", json: r})
}

// Get describes a sandbox.
func (c *Client) Get(ctx context.Context, id schemas.SandboxID) (Answer[schemas.Sandbox], error) {
	return ask[schemas.Sandbox](ctx, c, request{method: http.MethodGet, path: sandboxPath(id, "")})
}

// Sandboxes are all there are, oldest first.
func (c *Client) Sandboxes(ctx context.Context) ([]Answer[schemas.Sandbox], error) {
	return list[schemas.Sandbox](ctx, c, "sandboxes", nil)
}

// Destroy removes a sandbox.
func (c *Client) Destroy(ctx context.Context, id schemas.SandboxID) error {
	return c.do(ctx, request{method: http.MethodDelete, path: sandboxPath(id, "")})
}

// SetTimeout gives a sandbox a new time to live.
func (c *Client) SetTimeout(ctx context.Context, id schemas.SandboxID, r schemas.SetTimeoutRequest) (Answer[schemas.Sandbox], error) {
	return ask[schemas.Sandbox](ctx, c, request{method: http.MethodPost, path: sandboxPath(id, "/timeout"), json: r})
}

// Rollback puts a sandbox back to a snapshot.
func (c *Client) Rollback(ctx context.Context, id schemas.SandboxID, r schemas.RollbackRequest) (Answer[schemas.Sandbox], error) {
	return ask[schemas.Sandbox](ctx, c, request{method: http.MethodPost, path: sandboxPath(id, "/rollback"), json: r})
}

// ForkSandbox makes sandboxes from one that lives. The request must count.
func (c *Client) ForkSandbox(ctx context.Context, id schemas.SandboxID, r schemas.ForkRequest) (Answer[schemas.ForkResult], error) {
	return ask[schemas.ForkResult](ctx, c, request{method: http.MethodPost, path: sandboxPath(id, "/fork"), json: r})
}

// Snapshot saves a sandbox.
func (c *Client) Snapshot(ctx context.Context, id schemas.SandboxID, r schemas.SnapshotRequest) (Answer[schemas.Snapshot], error) {
	return ask[schemas.Snapshot](ctx, c, request{method: http.MethodPost, path: sandboxPath(id, "/snapshots"), json: r})
}

// Snapshots are those taken of a sandbox, or with "" all there are, oldest first.
func (c *Client) Snapshots(ctx context.Context, of schemas.SandboxID) ([]Answer[schemas.Snapshot], error) {
	query := url.Values{}
	if of != "" {
		query.Set("sandbox_id", string(of))
	}
	return list[schemas.Snapshot](ctx, c, "snapshots", query)
}

// DeleteSnapshot deletes a snapshot.
func (c *Client) DeleteSnapshot(ctx context.Context, id schemas.SnapshotID) error {
	return c.do(ctx, request{method: http.MethodDelete, path: snapshotPath(id, "")})
}

// ForkSnapshot makes sandboxes from a snapshot. The request must count.
func (c *Client) ForkSnapshot(ctx context.Context, id schemas.SnapshotID, r schemas.ForkRequest) (Answer[schemas.ForkResult], error) {
	return ask[schemas.ForkResult](ctx, c, request{method: http.MethodPost, path: snapshotPath(id, "/fork"), json: r})
}
