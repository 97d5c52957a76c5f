//go:build linux

package files

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Move renames a file, directory or link (the link itself). Missing parents of
// the target are made, a file there is replaced, a directory there is an error.
func (f *Files) Move(p protocol.MoveParams) (protocol.FileInfo, error) {
	const op = "move"
	fromPath, fromBelow, err := parseInside(op, p.From)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	toPath, toBelow, err := parseInside(op, p.To)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	from, err := f.locateInside(op, fromPath, fromBelow, false)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	defer from.close()
	to, err := f.locateInside(op, toPath, toBelow, false)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	defer to.close()
	if err := mayMove(from, to, fromPath, toPath); err != nil {
		return protocol.FileInfo{}, err
	}
	info, err := f.move(from, to, toPath)
	return info, Fail(op, toPath, err)
}

// mayMove checks what must be known before a parent of the target is made.
func mayMove(from, to *spot, fromPath, toPath string) error {
	const op = "move"
	if from.name == "." || to.name == "." {
		return refuse(protocol.ErrInvalid, op, fromPath, protocol.Workspace+" itself cannot be moved or replaced")
	}
	old, err := from.lstat()
	if err != nil {
		return Fail(op, fromPath, err)
	}
	self, target, isDir := from.full(), to.full(), typeOf(old.Mode) == protocol.TypeDirectory
	if slices.Equal(self, target) {
		return nil
	}
	if isDir && len(target) > len(self) && slices.Equal(target[:len(self)], self) {
		return refuse(protocol.ErrInvalid, op, fromPath, "a directory cannot be moved into itself")
	}
	there, err := to.lstat()
	switch {
	case err != nil:
		return nil // the move itself will say
	case typeOf(there.Mode) == protocol.TypeDirectory:
		return refuse(protocol.ErrExists, op, toPath, "a directory is there already; name a path in it or delete it first")
	case isDir:
		return refuse(protocol.ErrExists, op, toPath, "a file is there already, and a directory does not replace it")
	}
	return nil
}

// lstat describes what is at the spot, if that exists.
func (s *spot) lstat() (unix.Stat_t, error) {
	if len(s.missing) > 0 {
		return unix.Stat_t{}, unix.ENOENT
	}
	return lstat(s.dir, s.name)
}

// full is the path of the spot below the workspace, free of links.
func (s *spot) full() []string { return slices.Concat(s.at, s.missing, []string{s.name}) }

func (f *Files) move(from, to *spot, clean string) (info protocol.FileInfo, err error) {
	err = f.commit(func() error {
		dir, err := to.makeMissing()
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		if err := rename(from.dir, from.name, dir, to.name); err != nil {
			return err
		}
		info, err = describeAt(clean, dir, to.name)
		return err
	})
	return info, err
}

// rename is renameat(2), except that of two names of one file the old one goes
// (the kernel would keep both).
func rename(fromDir int, from string, toDir int, to string) error {
	a, errA := lstat(fromDir, from)
	b, errB := lstat(toDir, to)
	same := errA == nil && errB == nil && a.Dev == b.Dev && a.Ino == b.Ino
	if same && a.Mode&unix.S_IFMT != unix.S_IFDIR && !(from == to && sameDir(fromDir, toDir)) {
		return unix.Unlinkat(fromDir, from, 0)
	}
	return unix.Renameat(fromDir, from, toDir, to)
}

func sameDir(a, b int) bool {
	x, errX := lstat(a, ".")
	y, errY := lstat(b, ".")
	return errX == nil && errY == nil && x.Dev == y.Dev && x.Ino == y.Ino
}
