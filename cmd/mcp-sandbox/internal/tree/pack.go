package tree

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// PackFile writes a tar of one file, which has the given name in it.
func PackFile(ctx context.Context, w io.Writer, file, name string) error {
	p := &packer{ctx: ctx, tar: tar.NewWriter(w)}
	if err := p.file(file, name); err != nil {
		return err
	}
	return p.tar.Close()
}

// Pack writes a tar of what is in dir.
func Pack(ctx context.Context, w io.Writer, dir string, o Options) error {
	p := &packer{ctx: ctx, tar: tar.NewWriter(w), Options: o}
	// A link to a directory is a directory here, but WalkDir does not follow it.
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		return p.visit(root, file, d, err)
	})
	if err != nil {
		return err
	}
	return p.tar.Close()
}

type packer struct {
	Options
	ctx context.Context
	tar *tar.Writer
}

// visit writes one entry. What cannot be read is left out, but not the directory
// itself.
func (p *packer) visit(root, file string, d fs.DirEntry, err error) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	rel, relErr := filepath.Rel(root, file)
	if relErr != nil {
		return relErr
	}
	name := filepath.ToSlash(rel)
	if err != nil { // a directory that cannot be listed; it was written itself before
		err = &unreadableError{err}
	} else {
		err = p.entry(file, name, d)
	}
	var unreadable *unreadableError
	if name != "." && errors.As(err, &unreadable) {
		p.Skipped(name, reason(err))
		return nil
	}
	return err
}

func (p *packer) entry(file, name string, d fs.DirEntry) error {
	switch d.Type() {
	case 0:
		return p.file(file, name)
	case fs.ModeDir, fs.ModeSymlink:
		return p.headerOnly(file, name, d)
	}
	p.Skipped(name, "it is no file, directory or link")
	return nil
}

func (p *packer) headerOnly(file, name string, d fs.DirEntry) error {
	if name == "." && !p.Top {
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return &unreadableError{err}
	}
	target := ""
	if d.Type() == fs.ModeSymlink {
		if target, err = os.Readlink(file); err != nil {
			return &unreadableError{err}
		}
	} else {
		name += "/"
	}
	return p.header(info, name, filepath.ToSlash(target))
}

// file writes a regular file as large as it was when it was opened.
func (p *packer) file(file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return &unreadableError{err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return &unreadableError{err}
	}
	if !info.Mode().IsRegular() {
		return &unreadableError{errors.New("it is no file")}
	}
	if err := p.header(info, name, ""); err != nil {
		return err
	}
	n, err := io.CopyN(p.tar, contextReader{p.ctx, f}, info.Size())
	if err == io.EOF {
		return fmt.Errorf("read %s: it became shorter meanwhile: %d bytes, not %d", file, n, info.Size())
	}
	return err
}

func (p *packer) header(info fs.FileInfo, name, target string) error {
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	// Whose files they are here means nothing there.
	*h = tar.Header{Typeflag: h.Typeflag, Name: name, Linkname: h.Linkname, Size: h.Size, Mode: h.Mode, ModTime: h.ModTime, Format: tar.FormatPAX}
	return p.tar.WriteHeader(h)
}

// unreadableError is of one entry, before anything of it was written.
type unreadableError struct{ err error }

func (u *unreadableError) Error() string { return u.err.Error() }
func (u *unreadableError) Unwrap() error { return u.err }

// reason is an error without the path, which is said already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err.Error()
	}
	return err.Error()
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(b)
}
