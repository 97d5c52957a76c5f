package backendtest

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Unpack implements Guest.
func (g *guest) Unpack(ctx context.Context, o manager.UnpackOptions, r io.Reader) (stats manager.ArchiveStats, err error) {
	err = g.during(ctx, OpUnpack, func(ctx context.Context) error {
		in := pump(ctx, r)
		defer in.Close()
		r := io.Reader(in)
		if o.Zstd {
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
			if err != nil {
				return badArchive(err)
			}
			defer z.Close()
			r = z
		}
		u := &unpacker{g: g, o: o, in: &countingReader{r: r, limit: o.MaxBytes}, times: map[*node]*tar.Header{}}
		err := u.all()
		stats = manager.ArchiveStats{Bytes: u.in.n, Files: u.files}
		return err
	})
	return stats, err
}

type countingReader struct {
	r        io.Reader
	n, limit int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n > c.limit {
		return 0, fail(manager.KindTooLarge, "the archive is larger than %d bytes", c.limit)
	}
	return n, err
}

type unpacker struct {
	g     *guest
	o     manager.UnpackOptions
	in    *countingReader
	base  *node
	files int64
	times map[*node]*tar.Header // directories, whose modes and times come last
}

func (u *unpacker) all() error {
	if err := u.g.locked(u.start); err != nil {
		return err
	}
	tr := tar.NewReader(u.in)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return badArchive(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			return badArchive(err)
		}
		if err := u.g.locked(func() error { return u.add(h, data) }); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, u.in); err != nil { // to the checksum's end
		return badArchive(err)
	}
	return u.g.locked(u.finish)
}

func (u *unpacker) start() error {
	p, err := u.g.root.confined(u.o.Path, true)
	if err == nil && p.node == nil {
		err = notFound(u.o.Path)
	}
	if err != nil {
		return err
	}
	if u.base = p.node; u.o.Replace {
		clear(u.base.children)
	}
	return nil
}

func (u *unpacker) add(h *tar.Header, data []byte) error {
	name := path.Clean(h.Name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return fail(manager.KindInvalid, "archive entry %q leaves the directory", h.Name)
	}
	if name == "." {
		u.times[u.base] = h
		return nil
	}
	if u.files++; u.files > u.o.MaxFiles {
		return fail(manager.KindTooLarge, "the archive has more than %d entries", u.o.MaxFiles)
	}
	dir, err := u.dir(path.Dir(name))
	if err != nil {
		return err
	}
	n, err := u.node(h, data, dir.children[path.Base(name)])
	if err == nil {
		dir.put(path.Base(name), n)
	}
	return err
}

// dir makes an entry's parents; a link among them is not followed.
func (u *unpacker) dir(name string) (*node, error) {
	at := u.base
	for part := range strings.SplitSeq(name, "/") {
		if part == "." {
			continue
		}
		if at.children[part] == nil {
			at.put(part, newDir(0o755))
		}
		if at = at.children[part]; !at.isDir() {
			return nil, fail(manager.KindInvalid, "archive entry below %q, which is no directory", name)
		}
	}
	return at, nil
}

func (u *unpacker) node(h *tar.Header, data []byte, old *node) (*node, error) {
	n := &node{mode: uint32(h.Mode) & 0o1777, mtime: h.ModTime}
	for k, v := range h.PAXRecords {
		if name, ok := strings.CutPrefix(k, xattrPrefix); ok {
			if n.xattrs == nil {
				n.xattrs = map[string]string{}
			}
			n.xattrs[name] = v
		}
	}
	switch h.Typeflag {
	case tar.TypeReg:
		n.typ, n.data = schemas.TypeFile, data
	case tar.TypeDir:
		if n = newDir(0o755); old != nil && old.isDir() {
			n = old
		}
		u.times[n] = h
	case tar.TypeSymlink:
		n.typ, n.target, n.mode = schemas.TypeSymlink, h.Linkname, 0o777
	case tar.TypeFifo:
		n.typ = schemas.TypeOther
	case tar.TypeLink:
		return u.linked(h)
	default:
		return nil, fail(manager.KindInvalid, "archive entry %q is of a kind that may not be extracted", h.Name)
	}
	return n, nil
}

func (u *unpacker) linked(h *tar.Header) (*node, error) {
	p, err := u.base.walk("/"+path.Clean(h.Linkname), false)
	if err != nil || p.node == nil || p.node.isDir() {
		return nil, fail(manager.KindInvalid, "archive entry %q is a link to nothing", h.Name)
	}
	return p.node, nil
}

func (u *unpacker) finish() error {
	for n, h := range u.times {
		n.mode, n.mtime = uint32(h.Mode)&0o1777, h.ModTime
	}
	return nil
}

func badArchive(err error) error {
	var typed *manager.Error
	if errors.As(err, &typed) {
		return typed
	}
	return &manager.Error{Kind: manager.KindInvalid, Message: "the archive is damaged or cut short", Cause: err}
}
