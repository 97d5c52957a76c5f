package manager

import (
	"context"
	"io"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// maxArchiveFiles bounds what one tar may make: files cost the host's kernel
// memory and inodes even when they are empty.
const maxArchiveFiles = 1 << 20

// ReadArchive streams a plain tar of a directory to w. What cannot be read, or does
// not fit, is an error before anything is written, unless it came in between.
// After an error what was written is of no use.
func (m *Manager) ReadArchive(ctx context.Context, o Owner, id schemas.SandboxID, path string, w io.Writer) (err error) {
	defer m.observe("archive_read", time.Now(), &err)
	clean, err := cleanPath("path", path)
	if err != nil {
		return err
	}
	return m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		_, err := g.Pack(ctx, PackOptions{Path: clean, MaxBytes: m.cfg.MaxSnapshotBytes, Check: true}, w)
		return err
	})
}

// WriteArchive extracts a plain tar into a directory of the workspace, which is
// made when it is missing, over what is there. After an error part of it may
// have been extracted.
func (m *Manager) WriteArchive(ctx context.Context, o Owner, id schemas.SandboxID, path string, r io.Reader) (err error) {
	defer m.observe("archive_write", time.Now(), &err)
	clean, err := workspacePath("path", path)
	if err != nil {
		return err
	}
	return m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		if clean != Workspace {
			if _, err := g.Mkdir(ctx, clean, nil); err != nil {
				return err
			}
		}
		_, err := g.Unpack(ctx, UnpackOptions{Path: clean, MaxBytes: m.cfg.MaxSnapshotBytes, MaxFiles: maxArchiveFiles}, r)
		return err
	})
}
