//go:build linux

package files

import (
	"fmt"
	"os"
	"path"
)

// Files serves one workspace. Its methods may be called at the same time.
type Files struct {
	dir string // where the workspace really is

	// Commit, when set, is called with each step that changes what others see
	// (a link, rename, mkdir or removal) and must call it once. The body of a
	// write is received outside of it, so holding it back is cheap. Set it
	// before the first call.
	Commit func(change func() error) error
}

// Open serves the workspace that is at dir. Callers name it
// [protocol.Workspace], wherever it is: only tests have it elsewhere.
//
// Nothing is kept open, so a workspace that is closed to its owner for a while
// (chmod 000) works again as soon as it is opened again.
func Open(dir string) (*Files, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if !path.IsAbs(dir) || !st.IsDir() {
		return nil, fmt.Errorf("open workspace %s: not an absolute path of a directory", dir)
	}
	return &Files{dir: path.Clean(dir)}, nil
}

func (f *Files) commit(change func() error) error {
	if f.Commit == nil {
		return change()
	}
	return f.Commit(change)
}
