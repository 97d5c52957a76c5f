package manager

import (
	"os"
	"path/filepath"
)

// writeDurably replaces a file by renaming a synced one over it. renameio is
// not made for Windows, where a replacing rename is as close as one gets.
func writeDurably(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // a no-op after the rename
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// syncDir does nothing: Windows cannot sync a directory.
func syncDir(string) error { return nil }
