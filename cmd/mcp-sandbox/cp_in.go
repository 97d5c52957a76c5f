package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/tree"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// in copies into the sandbox.
func (p *copying) in(ctx context.Context, from place, to string) error {
	if to == "" {
		to = manager.Workspace
	}
	var kind client.Kind
	info, err := statSource(from)
	if err == nil {
		kind, err = p.Kind(ctx, p.id, to)
	}
	if err != nil {
		return err
	}
	toDir := kind == client.Directory || strings.HasSuffix(to, "/")
	switch {
	case from.stream() && toDir:
		return p.WriteArchive(ctx, p.id, to, p.line.reader(p.stdin))
	case from.stream():
		_, err := p.WriteFile(ctx, p.id, to, p.line.reader(p.stdin))
		return err
	case !info.IsDir():
		dir, name := path.Split(to)
		if toDir {
			dir, name = to, baseOf(from.path)
		}
		return p.pack(ctx, orWorkspace(dir), func(w io.Writer) error { return tree.PackFile(ctx, w, from.path, name) })
	case kind == client.Other:
		return client.Invalid("", "%s is not a directory", to)
	}
	top := true
	if kind == client.Directory {
		if top = !contentsOnly(from.path); top {
			to = path.Join(to, baseOf(from.path))
		}
	}
	return p.pack(ctx, to, func(w io.Writer) error { return tree.Pack(ctx, w, from.path, p.options(top)) })
}

func statSource(from place) (os.FileInfo, error) {
	if from.stream() {
		return nil, nil
	}
	info, err := os.Stat(from.path)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, client.Invalid("Give - and pipe it in.", "%s is neither a file nor a directory", from.path)
	}
	return info, err
}

// pack uploads a tar while it is made.
func (p *copying) pack(ctx context.Context, dir string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		packed <- err
	}()
	err := p.WriteArchive(ctx, p.id, dir, p.line.reader(r))
	r.Close()
	// A tar that could not be made is why the upload broke, not the other way.
	if packErr := <-packed; packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) {
		return packErr
	}
	return err
}

// contentsOnly: not the directory itself is meant, but what is in it.
func contentsOnly(name string) bool {
	slashed := filepath.ToSlash(name)
	return slashed == "." || strings.HasSuffix(slashed, "/.")
}

// baseOf is the name of a local path, also of one like "..".
func baseOf(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	return filepath.Base(name)
}

func orWorkspace(dir string) string {
	if dir == "" {
		return manager.Workspace
	}
	return dir
}
