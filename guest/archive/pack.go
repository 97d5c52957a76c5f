//go:build linux

package archive

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// PackOptions says how a tar is made.
type PackOptions struct {
	Zstd bool // compress it
	// MaxBytes bounds the uncompressed tar, headers included; negative: no
	// bound. A file too large for what is left is an error before it is read.
	MaxBytes int64
	// Check looks through everything first, for an error that is to come before
	// the first byte: something may not be read, or it cannot fit.
	Check bool
}

// Pack writes a tar of all that is in dir, a directory opened in any way
// (O_PATH will do). The statistics tell how far it came also when it fails;
// what it wrote is no use then.
func Pack(ctx context.Context, dir *os.File, w io.Writer, o PackOptions) (protocol.ArchiveStats, error) {
	if o.Check {
		if err := check(ctx, dir, o.MaxBytes); err != nil {
			return protocol.ArchiveStats{}, files.Fail("archive", ".", err)
		}
	}
	out, complete, err := compressed(w, o.Zstd)
	if err != nil {
		return protocol.ArchiveStats{}, files.Fail("archive", ".", err)
	}
	p := newPacker(ctx, out, o.MaxBytes)
	p.buf = make([]byte, copyBuffer)
	err = p.root(int(dir.Fd()))
	if err == nil {
		err = p.tar.Close()
	}
	// An encoder that is not closed keeps what it holds, and one that is closed
	// writes: only what is whole may look so.
	if err == nil {
		err = complete()
	}
	return protocol.ArchiveStats{Bytes: p.out.count, Files: p.files}, files.Fail("archive", ".", err)
}

// packer is one Pack under way.
type packer struct {
	ctx   context.Context
	out   *meteredWriter
	tar   *tar.Writer
	links map[inode]*linked
	buf   []byte
	files int64
	dev   uint64 // the file system of the directory
	dry   bool   // nothing is read or written, see check
}

func newPacker(ctx context.Context, to io.Writer, maxBytes int64) *packer {
	p := &packer{ctx: ctx, out: &meteredWriter{meter: meter{max: maxBytes}, ctx: ctx, to: to}, links: map[inode]*linked{}}
	p.tar = tar.NewWriter(p.out)
	return p
}

func (p *packer) root(dir int) error {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	p.dev = uint64(st.Dev)
	return p.dir(dir, ".", "./", 0)
}

// entry writes what name in dir is. path is its name in the tar.
func (p *packer) entry(dir int, name, path string, depth int) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	st, err := lstat(dir, name)
	if err != nil {
		return err
	}
	if isDir(&st) {
		return p.dir(dir, name, path+"/", depth+1)
	}
	if first := p.linkedTo(&st); first != "" {
		hdr := header(path, tar.TypeLink, &st)
		hdr.Linkname = first
		return p.header(hdr)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if p.dry {
			return p.foresee(dir, name, path, &st)
		}
		return p.file(dir, name, path)
	case unix.S_IFLNK:
		return p.symlink(dir, name, path, &st)
	case unix.S_IFIFO:
		return p.whole(header(path, tar.TypeFifo, &st), &st)
	}
	return nil // sockets and devices mean nothing in a tar
}

func (p *packer) symlink(dir int, name, path string, st *unix.Stat_t) error {
	target, err := readlink(dir, name)
	if err != nil {
		return err
	}
	hdr := header(path, tar.TypeSymlink, st)
	hdr.Linkname = target
	return p.whole(hdr, st)
}

// whole writes an entry that is all header.
func (p *packer) whole(hdr *tar.Header, st *unix.Stat_t) error {
	if err := p.header(hdr); err != nil {
		return err
	}
	p.remember(st, hdr.Name)
	return nil
}

func (p *packer) header(hdr *tar.Header) error {
	if p.dry {
		return p.out.take(block)
	}
	err := p.tar.WriteHeader(hdr)
	if errors.Is(err, tar.ErrFieldTooLong) {
		return &protocol.Error{Code: protocol.ErrTooLarge, Message: "archive " + files.Show(hdr.Name) + ": its extended attributes are larger than 1 MiB"}
	}
	if err != nil {
		return files.Fail("archive", hdr.Name, err)
	}
	if hdr.Name != "./" {
		p.files++
	}
	return nil
}
