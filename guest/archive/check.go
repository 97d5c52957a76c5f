//go:build linux

package archive

import (
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// check goes through a directory as a packer does, without reading a file. What
// changes meanwhile it cannot know of, and of headers it counts the least that
// they can be.
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
	p.remember(st, path)
	return p.out.take(block + roundUp(st.Size))
}
