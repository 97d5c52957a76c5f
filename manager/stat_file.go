package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// StatFile describes one path, without following a link that it names.
func (m *Manager) StatFile(ctx context.Context, o Owner, id schemas.SandboxID, path string) (info schemas.FileInfo, err error) {
	defer m.observe("file_stat", time.Now(), &err)
	clean, err := cleanPath("path", path)
	if err != nil {
		return info, err
	}
	err = m.ask(ctx, o, id, func(ctx context.Context, g Guest) error {
		f, err := g.Stat(ctx, clean)
		info = fileInfo(f)
		return err
	})
	return info, err
}
