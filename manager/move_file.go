package manager

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// MoveFile renames a file or directory within the workspace.
func (m *Manager) MoveFile(ctx context.Context, o Owner, id schemas.SandboxID, from, to string) (info schemas.FileInfo, err error) {
	defer m.observe("file_move", time.Now(), &err)
	source, err := insidePath("from", from)
	if err != nil {
		return info, err
	}
	target, err := insidePath("to", to)
	if err != nil {
		return info, err
	}
	if strings.HasPrefix(target, source+"/") {
		return info, invalid("to is inside from; a directory cannot be moved into itself")
	}
	err = m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		f, err := g.Move(ctx, source, target)
		info = fileInfo(f)
		return err
	})
	return info, err
}
