package backendtest

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const xattrPrefix = "SCHILY.xattr."

// Pack implements Guest. It packs a copy, so the tree is as paused either way.
func (g *guest) Pack(ctx context.Context, o manager.PackOptions, w io.Writer) (stats manager.ArchiveStats, err error) {
	err = g.during(ctx, OpPack, func(ctx context.Context) error {
		var tree *node
		err := g.locked(func() error {
			p, err := g.root.find(o.Path, true)
			if err != nil {
				return err
			}
			if !p.node.isDir() {
				return fail(manager.KindInvalid, "%s: not a directory", o.Path)
			}
			tree = p.node.clone(map[*node]*node{})
			return nil
		})
		if err != nil {
			return err
		}
		stats, err = packTree(tree, o, whileAliveWriter{ctx, w})
		return err
	})
	return stats, err
}

type whileAliveWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w whileAliveWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

func packTree(tree *node, o manager.PackOptions, w io.Writer) (manager.ArchiveStats, error) {
	if o.Check {
		if _, err := writeTree(tree, o.MaxBytes, io.Discard); err != nil {
			return manager.ArchiveStats{}, err
		}
	}
	if !o.Zstd {
		return writeTree(tree, o.MaxBytes, w)
	}
	// One at a time: the encoder must leave no goroutine behind on an error.
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return manager.ArchiveStats{}, err
	}
	stats, err := writeTree(tree, o.MaxBytes, z)
	return stats, errors.Join(err, z.Close())
}

func writeTree(tree *node, limit int64, w io.Writer) (manager.ArchiveStats, error) {
	c := &counter{w: w, limit: limit}
	p := &packer{tw: tar.NewWriter(c), first: map[*node]string{}}
	err := p.add("./", tree)
	if err == nil {
		err = p.tw.Close()
	}
	return manager.ArchiveStats{Bytes: c.n, Files: p.files}, err
}

type counter struct {
	w        io.Writer
	n, limit int64
}

func (c *counter) Write(p []byte) (int, error) {
	if c.n += int64(len(p)); c.n > c.limit {
		return 0, fail(manager.KindTooLarge, "the archive is larger than %d bytes", c.limit)
	}
	return c.w.Write(p)
}

type packer struct {
	tw    *tar.Writer
	first map[*node]string // name under which a file is in the tar already
	files int64
}

func (p *packer) add(name string, n *node) error {
	h := header(name, n)
	if other := p.first[n]; other != "" {
		h.Typeflag, h.Linkname, h.Size = tar.TypeLink, other, 0
	} else if !n.isDir() {
		p.first[n] = name
	}
	if err := p.tw.WriteHeader(h); err != nil {
		return err
	}
	if name != "./" {
		p.files++
	}
	if h.Typeflag == tar.TypeReg {
		if _, err := p.tw.Write(n.data); err != nil {
			return err
		}
	}
	for _, child := range slices.Sorted(maps.Keys(n.children)) {
		at := name + child
		if n.children[child].isDir() {
			at += "/"
		}
		if err := p.add(at, n.children[child]); err != nil {
			return err
		}
	}
	return nil
}

func header(name string, n *node) *tar.Header {
	types := map[schemas.FileType]byte{
		schemas.TypeFile: tar.TypeReg, schemas.TypeDirectory: tar.TypeDir,
		schemas.TypeSymlink: tar.TypeSymlink, schemas.TypeOther: tar.TypeFifo,
	}
	h := &tar.Header{
		Typeflag: types[n.typ], Name: name, Linkname: n.target, Size: int64(len(n.data)),
		Mode: int64(n.mode &^ 0o6000), ModTime: n.mtime, Format: tar.FormatPAX,
	}
	for k, v := range n.xattrs {
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[xattrPrefix+k] = v
	}
	return h
}
