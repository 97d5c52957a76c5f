package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/tree"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// out copies out of the sandbox.
func (p *copying) out(ctx context.Context, from string, to place) error {
	kind, err := p.Kind(ctx, p.id, orWorkspace(from))
	switch {
	case err != nil:
		return err
	case kind == client.Absent:
		e := client.Invalid("mcp-sandbox exec SANDBOX ls shows what is there.", "%s is not in the sandbox", from)
		e.Body.Code = schemas.CodeNotFound
		return e
	case kind == client.Directory:
		return p.outDir(ctx, from, to)
	}
	f, err := p.ReadFile(ctx, p.id, from)
	if err != nil {
		return err
	}
	defer f.Close()
	if to.stream() {
		return p.copyTo(p.stdout, f)
	}
	return p.outFile(f, from, to.path)
}

func (p *copying) outDir(ctx context.Context, from string, to place) error {
	if to.stream() && isTerminal(p.stdout) {
		return client.Invalid("Send it on: mcp-sandbox cp SANDBOX:DIR - | tar t", "a tar is nothing for a terminal")
	}
	target, top, err := to.path, true, error(nil)
	if !to.stream() {
		if target, top, err = targetDir(from, to.path); err != nil {
			return err
		}
	}
	r, err := p.ReadArchive(ctx, p.id, orWorkspace(from))
	if err != nil {
		return err
	}
	defer r.Close()
	if to.stream() {
		return p.copyTo(p.stdout, r)
	}
	if err := os.Mkdir(target, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(target)
	if err != nil {
		return err
	}
	defer root.Close()
	return tree.Unpack(ctx, p.line.reader(r), root, p.options(top))
}

// targetDir is the directory that one from the sandbox becomes here, and whether
// it has to be like that one.
func targetDir(from, to string) (target string, top bool, err error) {
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return to, true, nil
	case err != nil:
		return "", false, err
	case !info.IsDir():
		return "", false, client.Invalid("", "%s is not a directory", to)
	case from != "" && contentsOnly(from):
		return to, false, nil
	}
	return filepath.Join(to, localName(from)), true, nil
}

// localName is the last name of a path in the sandbox.
func localName(from string) string {
	if !path.IsAbs(from) {
		from = path.Join(manager.Workspace, from)
	}
	return path.Base(path.Clean(from))
}

// outFile writes a file whole or not at all.
func (p *copying) outFile(f *client.File, from, to string) error {
	info, err := os.Stat(to)
	switch {
	case err == nil && info.IsDir():
		to = filepath.Join(to, localName(from))
	case err == nil && !info.Mode().IsRegular(): // a FIFO or device takes what comes
		return p.outSpecial(f, to)
	case err != nil && os.IsPathSeparator(to[len(to)-1]):
		return client.Invalid("", "%s is not a directory", to)
	}
	if real, err := filepath.EvalSymlinks(to); err == nil {
		to = real
	}
	draft, err := os.CreateTemp(filepath.Dir(to), ".mcp-sandbox-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	err = p.copyTo(draft, f)
	if err == nil {
		err = draft.Chmod(fs.FileMode(f.Mode))
	}
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	if err := os.Chtimes(draft.Name(), f.ModTime, f.ModTime); err != nil {
		return err
	}
	return os.Rename(draft.Name(), to)
}

func (p *copying) outSpecial(f *client.File, to string) error {
	w, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(p.copyTo(w, f), w.Close())
}

// copyTo tells a reader here that has gone from a sandbox that broke off.
func (p *copying) copyTo(w io.Writer, r io.Reader) error {
	_, err := io.Copy(outputWriter{w}, p.line.reader(r))
	var output *outputError
	if err != nil && !errors.As(err, &output) {
		return fmt.Errorf("the copy broke off: %w", err)
	}
	return err
}

type outputWriter struct{ w io.Writer }

func (o outputWriter) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}
