//go:build linux

package archive

import (
	"archive/tar"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
)

// header describes an entry. Times other than the modification time are left
// out: they cannot be put back.
func header(path string, kind byte, st *unix.Stat_t) *tar.Header {
	return &tar.Header{
		Format:   tar.FormatPAX,
		Typeflag: kind,
		Name:     path,
		Mode:     int64(st.Mode & 0o1777),
		Uid:      int(st.Uid),
		Gid:      int(st.Gid),
		ModTime:  time.Unix(st.Mtim.Unix()),
	}
}

// file writes a regular file with the size that it has when it is opened.
func (p *packer) file(dir int, name, path string) error {
	fd, err := openFile(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.ENOENT // another file by now
	}
	if err := p.out.room(block + roundUp(st.Size)); err != nil {
		return err
	}
	hdr := header(path, tar.TypeReg, &st)
	hdr.Size = st.Size
	if err := addXattrs(hdr, fd); err != nil {
		return err
	}
	if err := p.header(hdr); err != nil {
		return err
	}
	p.remember(&st, path)
	return files.Fail("archive", path, p.content(fd, st.Size))
}

// content writes size bytes: what the file has, then zeros if it shrank.
func (p *packer) content(fd int, size int64) error {
	ended := false
	for size > 0 {
		buf := p.buf[:min(size, int64(len(p.buf)))]
		n := len(buf)
		if ended {
			clear(buf)
		} else {
			var err error
			n, err = read(fd, buf)
			if err != nil {
				return err
			}
			ended = n == 0
		}
		if _, err := p.tar.Write(buf[:n]); err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}
