//go:build linux

package files

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

const (
	newFileMode = 0o644
	newDirMode  = 0o755
)

// Write makes body the content of a file, whole or not at all. It follows links
// that stay in the workspace, makes missing parents, and fails as too_large
// when body has more than MaxBytes (negative: no bound). A body whose reader
// fails leaves everything as it was.
func (f *Files) Write(ctx context.Context, p protocol.WriteParams, body io.Reader) (protocol.FileInfo, error) {
	const op = "write"
	clean, below, err := parseInside(op, p.Path)
	if err == nil && namesDirectory(p.Path) {
		err = refuse(protocol.ErrInvalid, op, string(p.Path), "the path ends as a directory's; name a file")
	}
	if err != nil {
		return protocol.FileInfo{}, err
	}
	at, err := f.locateInside(op, clean, below, true)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	defer at.close()
	mode, err := modeFor(op, clean, at, p.Mode)
	if err != nil {
		return protocol.FileInfo{}, Fail(op, clean, err)
	}
	info, err := f.replace(ctx, at, mode, clean, limited(ctx, body, clean, p.MaxBytes))
	return info, Fail(op, clean, err)
}

// modeFor settles the mode of the file, and that one may be written there.
// Permission bits only: new content must not run with an old setuid bit.
func modeFor(op, clean string, at *spot, given *uint32) (uint32, error) {
	mode := uint32(newFileMode)
	switch st, err := at.lstat(); {
	case err == nil:
		if err := wantFile(op, clean, &st); err != nil {
			return 0, err
		}
		mode = st.Mode & 0o777
	case err != unix.ENOENT:
		return 0, err
	}
	if given != nil {
		mode = *given & 0o777
	}
	return mode, nil
}

// replace receives the content into a draft and then gives it its name.
func (f *Files) replace(ctx context.Context, at *spot, mode uint32, clean string, body io.Reader) (protocol.FileInfo, error) {
	d, err := newDraft(at.dir)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	defer d.discard()
	if err := d.fill(body); err != nil {
		return protocol.FileInfo{}, err
	}
	if err := unix.Fchmod(d.fd, mode); err != nil {
		return protocol.FileInfo{}, err
	}
	if err := ctx.Err(); err != nil {
		return protocol.FileInfo{}, err
	}
	if err := f.commit(func() error { return publish(at, d) }); err != nil {
		return protocol.FileInfo{}, err
	}
	var st unix.Stat_t
	err = unix.Fstat(d.fd, &st)
	return describe(clean, &st), err
}

func publish(at *spot, d *draft) error {
	dir, err := at.makeMissing()
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return d.publish(dir, at.name)
}

// limitedReader is a body that ends with an error when it is too long or the
// call is over.
type limitedReader struct {
	ctx   context.Context
	from  io.Reader
	path  string
	max   int64
	count int64
}

func limited(ctx context.Context, body io.Reader, clean string, max int64) io.Reader {
	return &limitedReader{ctx: ctx, from: body, path: clean, max: max}
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.from.Read(p)
	if l.count += int64(n); l.max >= 0 && l.count > l.max {
		return 0, refuse(protocol.ErrTooLarge, "write", l.path, "the content is larger than the limit; nothing was changed")
	}
	switch ctxErr := l.ctx.Err(); {
	case err == nil || err == io.EOF:
		return n, err
	case ctxErr != nil:
		return n, ctxErr
	}
	var typed *protocol.Error
	if errors.As(err, &typed) {
		return n, err
	}
	return n, refuse(protocol.ErrInvalid, "write", l.path, "the content was cut off ("+err.Error()+"); nothing was changed")
}
