//go:build linux

package archive

import (
	"archive/tar"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// entry makes what one header says.
func (x *extractor) entry(hdr *tar.Header) error {
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		return nil // a comment, as git puts there
	}
	parts, err := nameParts(hdr.Name)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		return x.rootEntry(hdr)
	}
	if err := x.count(); err != nil {
		return err
	}
	x.files++
	t, err := x.target(parts)
	if err != nil {
		return err
	}
	switch hdr.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return x.file(t, hdr)
	case tar.TypeDir:
		return x.dir(t, hdr)
	case tar.TypeSymlink:
		return x.symlink(t, hdr)
	case tar.TypeLink:
		return x.link(t, hdr)
	case tar.TypeFifo:
		return x.fifo(t, hdr)
	}
	return badEntry(hdr.Name, "is a device or of another type that is not extracted")
}

func (x *extractor) count() error {
	if x.entries.room(1) != nil {
		return &protocol.Error{Code: protocol.ErrTooLarge, Message: fmt.Sprintf("the archive has more than %d entries", x.entries.max)}
	}
	x.entries.count++
	return nil
}

// nameParts takes a name in a tar apart. "." and empty components say nothing;
// what would lead elsewhere is refused, not repaired.
func nameParts(name string) ([]string, error) {
	switch {
	case name == "":
		return nil, badEntry(name, "has no name")
	case name[0] == '/':
		return nil, badEntry(name, "has an absolute name; make the archive with relative names")
	case strings.IndexByte(name, 0) >= 0:
		return nil, badEntry(name, "has a NUL byte in its name")
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return nil, badEntry(name, `has ".." in its name`)
		case len(part) > 255:
			return nil, badEntry(name, "has a name of more than 255 bytes")
		}
		parts = append(parts, part)
	}
	if len(parts) > maxDepth {
		return nil, badEntry(name, "nests too deep")
	}
	return parts, nil
}

func (x *extractor) file(t target, hdr *tar.Header) error {
	if hdr.Size < 0 {
		return badEntry(hdr.Name, "has a negative size")
	}
	if err := x.content.room(hdr.Size); err != nil {
		return err
	}
	x.content.count += hdr.Size
	var fd int
	err := x.make(t, func() (err error) {
		fd, err = openat(t.dir, t.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := x.copy(fd, hdr.Size); err != nil {
		return err
	}
	if err := setXattrs(fd, hdr); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, mode(hdr)); err != nil {
		return err
	}
	return setTime(t.dir, t.name, hdr.ModTime)
}

func mode(hdr *tar.Header) uint32 { return uint32(hdr.Mode) & 0o1777 }

// copy writes the content of the current entry. Stretches of zeros become
// holes: a tar does not tell which were ones, and one file of nothing much must
// not fill the disk of every fork.
func (x *extractor) copy(fd int, size int64) error {
	hole := false // at the end, so far
	for {
		n, err := x.tar.Read(x.buf)
		if n > 0 {
			var failed error
			if hole, failed = writeSparse(fd, x.buf[:n]); failed != nil {
				return failed
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return x.broken(err)
		}
	}
	if hole {
		return unix.Ftruncate(fd, size)
	}
	return nil
}

func (x *extractor) symlink(t target, hdr *tar.Header) error {
	if hdr.Linkname == "" || len(hdr.Linkname) > 4095 || strings.IndexByte(hdr.Linkname, 0) >= 0 {
		return badEntry(hdr.Name, "is a symbolic link with a text that is empty, too long or has a NUL byte")
	}
	err := x.make(t, func() error { return unix.Symlinkat(hdr.Linkname, t.dir, t.name) })
	if err != nil {
		return err
	}
	return setTime(t.dir, t.name, hdr.ModTime)
}

func (x *extractor) fifo(t target, hdr *tar.Header) error {
	err := x.make(t, func() error { return unix.Mknodat(t.dir, t.name, unix.S_IFIFO|0o600, 0) })
	if err != nil {
		return err
	}
	path, err := openat(t.dir, t.name, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer unix.Close(path)
	if err := files.Chmod(path, mode(hdr)); err != nil {
		return err
	}
	return setTime(t.dir, t.name, hdr.ModTime)
}
