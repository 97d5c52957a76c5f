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
	slash := strings.HasSuffix(from, "/") || strings.HasSuffix(to, "/")
	err = m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		if slash {
			if err := onlyDirectory(ctx, g, source); err != nil {
				return err
			}
		}
		f, err := g.Move(ctx, source, target)
		info = fileInfo(f)
		return err
	})
	return info, err
}

// onlyDirectory refuses what is no directory where a path ends in /: the file that
// was to go into a directory of that name would take the name itself.
func onlyDirectory(ctx context.Context, g Guest, source string) error {
	f, err := g.Stat(ctx, source)
	if err == nil && f.Type != schemas.TypeDirectory {
		err = invalid("from is no directory, and a path that ends in / names one; end from and to with the name of the file")
	}
	return err
}
