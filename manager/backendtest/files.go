package backendtest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Read implements Guest.
func (g *guest) Read(ctx context.Context, path string, offset, length int64) (info manager.File, content io.ReadCloser, err error) {
	err = g.call(ctx, OpRead, func() error {
		data, p, err := g.root.read(path)
		if err != nil {
			return err
		}
		data = data[min(offset, int64(len(data))):]
		if length >= 0 {
			data = data[:min(length, int64(len(data)))]
		}
		info, content = p.file(), io.NopCloser(bytes.NewReader(data))
		return nil
	})
	return info, content, err
}

// Write implements Guest. Nothing is there of the new content until all of it
// has arrived.
func (g *guest) Write(ctx context.Context, path string, o manager.WriteOptions, content io.Reader) (info manager.File, err error) {
	err = g.during(ctx, OpWrite, func(ctx context.Context) error {
		in := pump(ctx, content)
		defer in.Close()
		data, err := io.ReadAll(io.LimitReader(in, o.MaxBytes+1))
		if err != nil {
			return err
		}
		if int64(len(data)) > o.MaxBytes {
			return fail(manager.KindTooLarge, "%s: more than %d bytes", path, o.MaxBytes)
		}
		return g.locked(func() error {
			p, err := g.root.write(path, data, o.Mode)
			info = p.file()
			return err
		})
	})
	return info, err
}

// Stat implements Guest.
func (g *guest) Stat(ctx context.Context, path string) (info manager.File, err error) {
	err = g.call(ctx, OpStat, func() error {
		p, err := g.root.find(path, false)
		if err == nil {
			info = p.file()
		}
		return err
	})
	return info, err
}

// List implements Guest.
func (g *guest) List(ctx context.Context, path string, limit int, after string) (entries []manager.File, more bool, err error) {
	err = g.call(ctx, OpListFiles, func() error {
		p, err := g.root.find(path, true)
		if err != nil {
			return err
		}
		if !p.node.isDir() {
			return fail(manager.KindInvalid, "%s: not a directory; read it, or list the directory it is in", path)
		}
		for _, name := range slices.Sorted(maps.Keys(p.node.children)) {
			if name <= after {
				continue
			}
			if more = len(entries) == limit; more {
				break
			}
			entries = append(entries, place{name: name, node: p.node.children[name], path: strings.TrimRight(path, "/") + "/" + name}.file())
		}
		return nil
	})
	return entries, more, err
}

// Mkdir implements Guest.
func (g *guest) Mkdir(ctx context.Context, path string, mode *uint32) (info manager.File, err error) {
	err = g.call(ctx, OpMkdir, func() error {
		old, _ := g.root.walk(path, true)
		p, err := g.root.mkdirAll(path)
		if err != nil {
			return err
		}
		made := old.node == nil
		if mode != nil && made {
			p.node.mode = *mode
		}
		info = p.file()
		return nil
	})
	return info, err
}

// Move implements Guest.
func (g *guest) Move(ctx context.Context, from, to string) (info manager.File, err error) {
	err = g.call(ctx, OpMove, func() error {
		p, err := g.root.move(from, to)
		info = p.file()
		return err
	})
	return info, err
}

// Delete implements Guest.
func (g *guest) Delete(ctx context.Context, path string, recursive bool) error {
	return g.call(ctx, OpDelete, func() error { return g.root.remove(path, recursive) })
}

// verbs begin what the guest says of a file operation that failed.
var verbs = map[Op]string{
	OpRead: "read", OpWrite: "write", OpStat: "stat", OpListFiles: "list", OpMkdir: "mkdir", OpMove: "move", OpDelete: "delete",
}

// guestsWords makes a refusal the one that the guest gives: it is what a model
// reads. Programs say the same shorter.
func guestsWords(op Op, err error) error {
	e, ok := err.(*manager.Error)
	if !ok || verbs[op] == "" {
		return err
	}
	said := *e
	said.Message = verbs[op] + " " + said.Message
	for ours, guests := range map[string]string{
		": permission denied":   ": the sandbox user may not do this; check the mode of the file and its directories, and change it with chmod",
		": directory not empty": ": the directory is not empty; delete it with recursive set",
		": not a regular file":  ": not a regular file (FIFO, socket or device); use a command instead",
		": not a directory":     ": a part of the path is not a directory",
	} {
		if path, cut := strings.CutSuffix(said.Message, ours); cut {
			said.Message = path + guests
		}
	}
	return &said
}

func (p place) file() manager.File {
	if p.node == nil {
		return manager.File{}
	}
	size := int64(len(p.node.data))
	if p.node.typ == schemas.TypeSymlink {
		size = int64(len(p.node.target))
	}
	return manager.File{
		Name: p.name, Path: p.path, Type: p.node.typ, Size: size,
		Mode: p.node.mode, ModTime: p.node.mtime.Round(0), LinkTarget: p.node.target,
	}
}

// now is a time without the monotonic part, as a file system keeps it.
func now() time.Time { return time.Now().Round(0) }
