//go:build linux

package files

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Delete removes a file, a link (the link itself), an empty directory, or with
// Recursive a whole tree, also directories that are closed to their owner.
func (f *Files) Delete(ctx context.Context, p protocol.DeleteParams) error {
	const op = "delete"
	clean, below, err := parseInside(op, p.Path)
	if err != nil {
		return err
	}
	at, err := f.locateInside(op, clean, below, false)
	if err != nil {
		return err
	}
	defer at.close()
	if at.name == "." {
		return refuse(protocol.ErrInvalid, op, clean, "the workspace itself cannot be deleted; delete what is in it")
	}
	return Fail(op, clean, f.commit(func() error {
		if _, err := at.lstat(); err != nil {
			return err
		}
		if p.Recursive {
			return RemoveTree(ctx, at.dir, at.name)
		}
		return remove(at.dir, at.name)
	}))
}

func remove(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == unix.EISDIR {
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
	return err
}
