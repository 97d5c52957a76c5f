//go:build linux

package archive

import (
	"archive/tar"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// dir writes a directory and all below it. path ends in a slash.
func (p *packer) dir(parent int, name, path string, depth int) error {
	if depth > maxDepth {
		return &protocol.Error{Code: protocol.ErrTooLarge, Message: fmt.Sprintf("directories nest deeper than %d", maxDepth)}
	}
	d, err := openDir(parent, name)
	if err != nil {
		return err
	}
	defer d.close()
	hdr := header(path, tar.TypeDir, &d.st)
	if err := addXattrs(hdr, d.fd); err != nil {
		return err
	}
	if err := p.header(hdr); err != nil {
		return err
	}
	if uint64(d.st.Dev) != p.dev {
		return nil // a mount: its directory is ours, what is in it is not
	}
	return p.children(d.fd, path, depth)
}

func (p *packer) children(dir int, path string, depth int) error {
	names, err := readNames(p.ctx, dir)
	if err != nil {
		return err
	}
	if path == "./" {
		path = ""
	}
	for i := range names.len() {
		name := string(names.bytes(i))
		err := p.entry(dir, name, path+name, depth)
		if err != nil && !vanished(err) {
			return files.Fail("archive", path+name, err)
		}
	}
	return nil
}

// vanished says whether an entry was not, or no longer what it had been, when
// it was opened. Once its header is written no such error can come.
func vanished(err error) bool {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENXIO, unix.EINVAL, unix.ESTALE:
		return true
	}
	return false
}
