package tree

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Unpack extracts a tar into a directory, over what is there: files and links in
// the way are replaced, directories are kept. When it fails, what was extracted
// stays.
func Unpack(ctx context.Context, r io.Reader, root *os.Root, o Options) error {
	x := &extractor{Options: o, root: root, real: map[string]bool{".": true}}
	in := tar.NewReader(contextReader{ctx, r})
	for {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // names are looked at below
			return fmt.Errorf("read the archive: %w", err)
		}
		if err := x.entry(h, in); err != nil {
			return err
		}
	}
	// One that was cut ends with another error than this.
	if _, err := io.Copy(io.Discard, contextReader{ctx, r}); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	return x.finish()
}

type extractor struct {
	Options
	root *os.Root
	real map[string]bool // directories that are no links
	dirs []dirState
}

// dirState is set last: making entries needs the one and changes the other.
type dirState struct {
	name string
	mode fs.FileMode
	time time.Time
}

func (x *extractor) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := entryName(h.Name)
	if err != nil {
		return err
	}
	if name == "." {
		if x.Top {
			x.dirs = append(x.dirs, dirState{".", permissions(h), h.ModTime})
		}
		return nil
	}
	if _, err := filepath.Localize(name); err != nil && runtime.GOOS == "windows" {
		x.Skipped(name, "this system has no such names")
		return nil
	}
	if err := x.parents(path.Dir(name)); err != nil {
		return err
	}
	return x.make(h, name, content)
}

// entryName refuses what would lead elsewhere; nothing is repaired.
func entryName(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) {
		return "", badEntry(name, "the name is no relative path")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", badEntry(name, `the name has ".." in it`)
		}
	}
	return path.Clean(name), nil
}

func (x *extractor) make(h *tar.Header, name string, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		x.dirs = append(x.dirs, dirState{name, permissions(h), h.ModTime})
		return x.dir(name)
	case tar.TypeReg:
		return x.file(h, name, content)
	case tar.TypeSymlink:
		return x.symlink(h, name)
	case tar.TypeLink:
		return x.link(h, name)
	}
	x.Skipped(name, "it is no file, directory or link")
	return nil
}

// parents makes the directory that an entry is in. A link on the way would have
// the entry made elsewhere, so there must be none.
func (x *extractor) parents(dir string) error {
	if x.real[dir] {
		return nil
	}
	if err := x.parents(path.Dir(dir)); err != nil {
		return err
	}
	return x.dir(dir)
}

func (x *extractor) dir(name string) error {
	if x.real[name] {
		return nil
	}
	err := x.root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		info, statErr := x.root.Lstat(name)
		if statErr == nil && !info.IsDir() {
			return badEntry(name, "it is a directory there, and a file or link here; remove that first")
		}
		err = statErr
	}
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	x.real[name] = true
	return nil
}

func (x *extractor) file(h *tar.Header, name string, content io.Reader) error {
	if !x.clear(name) {
		return nil
	}
	f, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(permissions(h))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("extract %s: %w", name, err)
	}
	return x.root.Chtimes(name, h.ModTime, h.ModTime)
}

// symlink leaves out links that lead outside.
func (x *extractor) symlink(h *tar.Header, name string) error {
	if !x.AllLinks && !inside(name, h.Linkname) {
		x.Skipped(name, "it is a link that leads outside, to "+h.Linkname)
		return nil
	}
	if !x.clear(name) {
		return nil
	}
	if err := x.root.Symlink(filepath.FromSlash(h.Linkname), name); err != nil {
		x.Skipped(name, reason(err)) // not every system lets everybody
	}
	return nil
}

// inside tells whether a link leads to somewhere in the directory. As its parents
// are no links, so many steps up as it is deep stay inside; but only at the
// beginning: what comes before a later one may itself be a link.
func inside(name, target string) bool {
	if target == "" || strings.HasPrefix(target, "/") || filepath.IsAbs(target) || filepath.VolumeName(target) != "" {
		return false
	}
	steps, down := depth(name), false
	for part := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		switch part {
		case "", ".":
		case "..":
			if steps--; down || steps < 0 {
				return false
			}
		default:
			down = true
		}
	}
	return true
}

// link makes a hard link to what was extracted before.
func (x *extractor) link(h *tar.Header, name string) error {
	target, err := entryName(h.Linkname)
	if err != nil {
		return err
	}
	if err := x.parents(path.Dir(target)); err != nil {
		return err
	}
	// A link to a link is that link, in another place.
	if text, err := x.root.Readlink(target); err == nil && !x.AllLinks && !inside(name, filepath.ToSlash(text)) {
		x.Skipped(name, "it is a link that leads outside, to "+text)
		return nil
	}
	if !x.clear(name) {
		return nil
	}
	if err := x.root.Link(target, name); err != nil {
		x.Skipped(name, reason(err))
	}
	return nil
}

// clear removes what is in the way of a file or link, but for a directory that is
// not empty: then the entry is left out.
func (x *extractor) clear(name string) bool {
	if x.real[name] {
		x.Skipped(name, "a directory of this name is there")
		return false
	}
	err := x.root.Remove(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err == nil:
		// It may have been a directory by another spelling.
		x.real = map[string]bool{".": true}
		return true
	}
	x.Skipped(name, "what is there cannot be removed: "+reason(err))
	return false
}

// finish gives directories their modes and times, from the deepest up.
func (x *extractor) finish() error {
	slices.SortStableFunc(x.dirs, func(a, b dirState) int { return depth(b.name) - depth(a.name) })
	for _, d := range x.dirs {
		if err := x.root.Chmod(d.name, d.mode); err != nil {
			return fmt.Errorf("extract: %w", err)
		}
		if err := x.root.Chtimes(d.name, d.time, d.time); err != nil {
			return fmt.Errorf("extract: %w", err)
		}
	}
	return nil
}

func depth(name string) int {
	if name == "." {
		return -1
	}
	return strings.Count(name, "/")
}

func permissions(h *tar.Header) fs.FileMode { return fs.FileMode(h.Mode) & 0o777 }
