//go:build linux

package archive

import (
	"archive/tar"
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// check goes through a directory as a packer does, without reading a file. What
// changes meanwhile it cannot know of, nor of extended attributes.
func check(ctx context.Context, dir *os.File, maxBytes int64) error {
	p := newPacker(ctx, io.Discard, maxBytes)
	p.dry = true
	return p.root(int(dir.Fd()))
}

// foresee counts a regular file. One of our own can be opened whatever its mode.
func (p *packer) foresee(dir int, name, path string, st *unix.Stat_t) error {
	if int(st.Uid) != os.Geteuid() {
		if err := unix.Faccessat(dir, name, unix.R_OK, 0); err != nil {
			return err
		}
	}
	size := roundUp(st.Size)
	if err := p.out.room(block + size); err != nil {
		return err
	}
	if err := p.header(header(path, tar.TypeReg, st)); err != nil {
		return err
	}
	p.remember(st, path)
	if err := p.out.room(size); err != nil {
		return err
	}
	p.out.count += size
	return nil
}
