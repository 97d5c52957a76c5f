//go:build linux

package archive

import (
	"archive/tar"
	"slices"

	"golang.org/x/sys/unix"
)

// link gives a file in the directory another name. Its old name is looked up as
// any entry's is, and taken itself if it is a symbolic link: what it leads to
// may be anywhere.
func (x *extractor) link(t target, hdr *tar.Header) error {
	old, err := nameParts(hdr.Linkname)
	if err != nil {
		return err
	}
	if len(old) == 0 || slices.Equal(old, t.parts) {
		return badEntry(hdr.Name, "is a hard link to itself or to no file")
	}
	n := len(old) - 1
	dir, err := x.walk(x.root, old[:n], 0, nil)
	if err == nil {
		defer unix.Close(dir)
		err = x.linkable(dir, old[n])
	}
	if err == nil {
		err = x.make(t, func() error { return unix.Linkat(dir, old[n], t.dir, t.name, 0) })
	}
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EISDIR:
		return badEntry(hdr.Name, "is a hard link to a name that is no file before it in the archive")
	}
	return err
}

// linkable is asked before what is in the way of the new name is removed.
func (x *extractor) linkable(dir int, name string) error {
	st, err := lstat(dir, name)
	if err == nil && isDir(&st) {
		return unix.EISDIR
	}
	return err
}
