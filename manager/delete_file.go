package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// DeleteFile removes a file, an empty directory, or with recursive a whole one.
func (m *Manager) DeleteFile(ctx context.Context, o Owner, id schemas.SandboxID, path string, recursive bool) (err error) {
	defer m.observe("file_delete", time.Now(), &err)
	clean, err := insidePath("path", path)
	if err != nil {
		return err
	}
	return m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		return g.Delete(ctx, clean, recursive)
	})
}
