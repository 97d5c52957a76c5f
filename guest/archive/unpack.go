//go:build linux

package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// UnpackOptions says how a tar is extracted.
type UnpackOptions struct {
	Zstd bool // it is compressed
	// Replace empties the directory first, so that it is as the tar in the end.
	// Otherwise the tar is laid over it: files and links in the way are
	// replaced, directories are kept, links are never followed.
	Replace bool
	// MaxBytes bounds the uncompressed tar, and also the content of its files,
	// which may be more than the tar if they are sparse. MaxFiles bounds
	// entries. Negative: no bound.
	MaxBytes int64
	MaxFiles int64
}

// Unpack extracts a tar into dir, a directory opened in any way (O_PATH will
// do). When it fails, what was extracted stays. Nothing outside dir is touched.
func Unpack(ctx context.Context, dir *os.File, r io.Reader, o UnpackOptions) (protocol.ArchiveStats, error) {
	in, done, err := decompressed(ctxReader{ctx, r}, o.Zstd)
	if err != nil {
		return protocol.ArchiveStats{}, files.Fail("extract", ".", err)
	}
	defer done()
	x := &extractor{
		ctx:     ctx,
		in:      &meteredReader{meter: meter{max: o.MaxBytes}, from: in},
		content: meter{max: o.MaxBytes},
		entries: meter{max: o.MaxFiles},
		dirs:    map[string]dirState{},
		buf:     make([]byte, copyBuffer),
	}
	x.tar = tar.NewReader(x.in)
	err = x.run(dir, o.Replace)
	return protocol.ArchiveStats{Bytes: x.in.count, Files: x.files}, files.Fail("extract", ".", err)
}

// extractor is one Unpack under way.
type extractor struct {
	ctx     context.Context
	in      *meteredReader
	tar     *tar.Reader
	root    int
	last    parent // where the last entry was made
	dirs    map[string]dirState
	buf     []byte
	content meter // bytes in files
	entries meter // entries, and parents made for them
	files   int64
}

// run extracts all entries, and in any case gives directories their modes.
func (x *extractor) run(dir *os.File, replace bool) error {
	root, err := openRoot(x, int(dir.Fd()), replace)
	if err != nil {
		return err
	}
	defer root.Close()
	x.root = int(root.Fd())
	defer x.forget()
	if replace {
		err = files.EmptyTree(x.ctx, root)
	}
	if err == nil {
		err = x.all()
	}
	if finishErr := x.finish(); err == nil {
		err = finishErr
	}
	return err
}

// openRoot opens the directory itself. It is opened to its owner only to be
// emptied: otherwise its mode says what may be done.
func openRoot(x *extractor, dir int, replace bool) (*os.File, error) {
	if !replace {
		fd, err := openPath(dir, ".")
		return os.NewFile(uintptr(fd), "."), err
	}
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return nil, err
	}
	x.dirs[""] = dirState{mode: st.Mode & 0o7777}
	return files.ReopenForced(dir)
}

func (x *extractor) all() error {
	for {
		start := roundUp(x.in.count)
		hdr, err := x.tar.Next()
		if err == io.EOF {
			return x.end(start)
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // we look at paths ourselves
			return x.broken(err)
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
		if err := x.entry(hdr); err != nil {
			return files.Fail("extract", hdr.Name, err)
		}
	}
}

// end checks that the tar was complete. start is where its last entry ended:
// there must be a block of zeros, which no cut leaves, and only zeros after it.
// Anything more would be read by some programs and not by others.
func (x *extractor) end(start int64) error {
	if x.in.count-start < block || x.in.zeros < block {
		return bad("it ends early: its end mark is missing")
	}
	for {
		n, err := x.in.Read(x.buf)
		if slices.ContainsFunc(x.buf[:n], func(b byte) bool { return b != 0 }) {
			return bad("something follows its end mark")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return x.broken(err)
		}
	}
}

// broken says what an error of the stream means.
func (x *extractor) broken(err error) error {
	var typed *protocol.Error
	if ctxErr := x.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if errors.As(err, &typed) {
		return typed
	}
	return bad(fmt.Sprintf("it is damaged, cut short or not a tar (%v)", err))
}

func bad(why string) error {
	return &protocol.Error{Code: protocol.ErrBadArchive, Message: "the archive cannot be extracted: " + why}
}

func badEntry(name, why string) error {
	return bad("entry " + files.Show(name) + " " + why)
}

// ignoreGone drops the error of a name that is no longer what it was.
func ignoreGone(err error) error {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return nil
	}
	return err
}
