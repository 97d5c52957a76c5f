//go:build !windows

package manager

import (
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// writeDurably replaces a file in one step that a crash cannot split: renameio
// writes a temporary file beside it, syncs and renames. It leaves syncing the
// directory, without which the rename may not survive a power cut, to us.
func writeDurably(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer f.Cleanup() // a no-op after the rename
	if _, err := f.Write(data); err != nil {
		return err
	}
	faults.Point("disk.written")
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	faults.Point("disk.renamed")
	return syncDir(dir)
}

// syncDir makes renames and removals in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
