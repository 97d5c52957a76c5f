//go:build linux

package files

import (
	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Mkdir makes a directory and its parents. One that exists is left as it is.
func (f *Files) Mkdir(p protocol.MkdirParams) (protocol.FileInfo, error) {
	const op = "mkdir"
	clean, below, err := parseInside(op, p.Path)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	mode := uint32(newDirMode)
	if p.Mode != nil {
		mode = *p.Mode & 0o1777
	}
	dir, err := f.makeDir(op, clean, below, mode)
	if err != nil {
		return protocol.FileInfo{}, Fail(op, clean, err)
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	err = unix.Fstat(dir, &st)
	return describe(clean, &st), Fail(op, clean, err)
}

func (f *Files) makeDir(op, clean, below string, mode uint32) (dir int, err error) {
	at, err := f.locateInside(op, clean, below, true)
	if err != nil {
		return -1, err
	}
	defer at.close()
	err = f.commit(func() error {
		parent, err := at.makeMissing()
		if err != nil {
			return err
		}
		defer unix.Close(parent)
		dir, err = makeDirAt(parent, at.name, mode)
		return err
	})
	if err == unix.ENOTDIR && len(at.missing) == 0 {
		err = refuse(protocol.ErrExists, op, clean, "something that is no directory is there already")
	}
	return dir, err
}

// makeMissing makes the directories between the spot and its name, and opens
// the last. The mode is set after, because mkdir takes the umask off it.
func (s *spot) makeMissing() (int, error) {
	dir, err := openDir(s.dir, ".")
	for _, name := range s.missing {
		if err != nil {
			return -1, err
		}
		var next int
		next, err = makeDirAt(dir, name, newDirMode)
		unix.Close(dir)
		dir = next
	}
	return dir, err
}

// makeDirAt makes one directory, unless it is there, and opens it.
func makeDirAt(parent int, name string, mode uint32) (int, error) {
	made := unix.Mkdirat(parent, name, 0o700)
	if made != nil && made != unix.EEXIST {
		return -1, made
	}
	dir, err := openDir(parent, name)
	if err == nil && made == nil {
		err = Chmod(dir, mode)
	}
	if err != nil {
		unix.Close(dir)
		return -1, err
	}
	return dir, nil
}
