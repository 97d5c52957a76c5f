package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Mkdir makes a directory and its parents; one that is there already is fine.
func (m *Manager) Mkdir(ctx context.Context, o Owner, id schemas.SandboxID, path string) (info schemas.FileInfo, err error) {
	defer m.observe("file_mkdir", time.Now(), &err)
	clean, err := workspacePath("path", path)
	if err != nil {
		return info, err
	}
	err = m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		f, err := g.Mkdir(ctx, clean, nil)
		info = fileInfo(f)
		return err
	})
	return info, err
}
