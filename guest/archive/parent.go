//go:build linux

package archive

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// target is where an entry is to be made: a directory that is open and one name.
type target struct {
	dir   int
	name  string
	parts []string
}

func (t target) path() string { return strings.Join(t.parts, "/") }

// parent is the directory of the last entry, which mostly is the next one's too.
type parent struct {
	parts []string
	fd    int // 0: none
}

// target opens the directory of an entry and makes it when it is missing.
func (x *extractor) target(parts []string) (target, error) {
	n := len(parts) - 1
	dir, err := x.parent(parts[:n], x.makeParent)
	return target{dir: dir, name: parts[n], parts: parts}, err
}

// parent is walk, from the last directory if that is on the way. What it gives
// is not the caller's to close.
func (x *extractor) parent(parts []string, missing func([]string, int) error) (int, error) {
	if x.last.fd != 0 && slices.Equal(parts, x.last.parts) {
		return x.last.fd, nil
	}
	if len(parts) == 0 {
		return x.root, nil
	}
	start, from := x.root, 0
	if n := len(x.last.parts); x.last.fd != 0 && n < len(parts) && slices.Equal(parts[:n], x.last.parts) {
		start, from = x.last.fd, n
	}
	fd, err := x.walk(start, parts, from, missing)
	if err != nil {
		return -1, err
	}
	x.forget()
	x.last = parent{parts: slices.Clone(parts), fd: fd}
	return fd, nil
}

// walk goes from start, which is parts[:from], through directories that are no
// links. It calls missing, if any, to make one that does not exist.
func (x *extractor) walk(start int, parts []string, from int, missing func([]string, int) error) (int, error) {
	dir, err := openPath(start, ".")
	for i := from; err == nil && i < len(parts); i++ {
		var next int
		next, err = openPath(dir, parts[i])
		if err == unix.ENOENT && missing != nil {
			if err = missing(parts[:i+1], dir); err == nil {
				next, err = openPath(dir, parts[i])
			}
		}
		unix.Close(dir)
		dir = next
		if err == unix.ENOTDIR && missing != nil {
			err = badEntry(strings.Join(parts[:i+1], "/"), "has entries below it but is no directory here (links are not followed)")
		}
	}
	return dir, err
}

// makeParent makes a directory that the tar does not name before it needs it.
func (x *extractor) makeParent(parts []string, dir int) error {
	if err := x.count(); err != nil {
		return err
	}
	x.dirs[strings.Join(parts, "/")] = dirState{mode: 0o755}
	return unix.Mkdirat(dir, parts[len(parts)-1], 0o700)
}

func (x *extractor) forget() {
	if x.last.fd != 0 {
		unix.Close(x.last.fd)
	}
	x.last = parent{}
}

// make calls create, once more after removing what is in the way.
func (x *extractor) make(t target, create func() error) error {
	err := create()
	if err != unix.EEXIST {
		return err
	}
	if err := x.clear(t); err != nil {
		return err
	}
	return create()
}

// clear removes a file, a link or an empty directory.
func (x *extractor) clear(t target) error {
	err := unix.Unlinkat(t.dir, t.name, 0)
	if err != unix.EISDIR {
		return err
	}
	switch err = unix.Unlinkat(t.dir, t.name, unix.AT_REMOVEDIR); err {
	case nil:
		delete(x.dirs, t.path())
	case unix.ENOTEMPTY, unix.EEXIST:
		return &protocol.Error{Code: protocol.ErrExists, Message: "extract " + t.path() + ": a directory that is not empty is there already; delete it first"}
	}
	return err
}
