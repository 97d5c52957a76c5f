//go:build linux

package archive

import (
	"archive/tar"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
)

// dirState is what a directory gets in the end.
type dirState struct {
	mode uint32
	time time.Time // zero: none
}

// dir makes a directory, or keeps one that is there, open to its owner until
// the end.
func (x *extractor) dir(t target, hdr *tar.Header) error {
	err := unix.Mkdirat(t.dir, t.name, 0o700)
	if err == unix.EEXIST {
		err = x.keepDir(t)
	}
	if err != nil {
		return err
	}
	x.dirs[t.path()] = dirState{mode: mode(hdr), time: hdr.ModTime}
	if !hasXattrs(hdr) {
		return nil
	}
	return xattrsOfDir(t.dir, t.name, hdr)
}

func (x *extractor) keepDir(t target) error {
	st, err := lstat(t.dir, t.name)
	if err != nil {
		return err
	}
	if !isDir(&st) {
		if err := x.clear(t); err != nil {
			return err
		}
		return unix.Mkdirat(t.dir, t.name, 0o700)
	}
	if st.Mode&0o700 == 0o700 {
		return nil
	}
	d, err := files.OpenForced(t.dir, t.name)
	if err != nil {
		return err
	}
	return d.Close()
}

func xattrsOfDir(dir int, name string, hdr *tar.Header) error {
	fd, err := openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return setXattrs(fd, hdr)
}

// rootEntry is the entry of the directory itself.
func (x *extractor) rootEntry(hdr *tar.Header) error {
	if hdr.Typeflag != tar.TypeDir {
		return badEntry(hdr.Name, "names the directory itself but is none")
	}
	x.dirs[""] = dirState{mode: mode(hdr), time: hdr.ModTime}
	if !hasXattrs(hdr) {
		return nil
	}
	return xattrsOfDir(x.root, ".", hdr)
}

// finish gives directories their modes and times, the deepest first: a path
// sorts after every path that it begins with.
func (x *extractor) finish() error {
	paths := slices.Sorted(maps.Keys(x.dirs))
	var first error
	for _, path := range slices.Backward(paths) {
		err := ignoreGone(x.finishDir(path, x.dirs[path]))
		if err != nil && first == nil {
			first = files.Fail("extract", path, err)
		}
	}
	return first
}

func (x *extractor) finishDir(path string, s dirState) error {
	dir, name := x.root, "."
	if path != "" {
		parts := strings.Split(path, "/")
		n := len(parts) - 1
		var err error
		if dir, err = x.parent(parts[:n], nil); err != nil {
			return err
		}
		name = parts[n]
	}
	fd, err := openat(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !s.time.IsZero() {
		if err := setTime(fd, ".", s.time); err != nil {
			return err
		}
	}
	return files.Chmod(fd, s.mode)
}
