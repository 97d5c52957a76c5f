//go:build linux

package files

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

const (
	maxLinks = 40    // as the kernel allows on one path
	maxSteps = 20000 // bounds what ".." in links can make us repeat
)

// spot is where a path leads: a directory that is open and a name in it.
type spot struct {
	dir     int      // O_PATH descriptor
	at      []string // components of dir below where the walk began
	missing []string // directories between dir and name that do not exist yet
	name    string   // "." when the path is the start of the walk itself
}

func (s *spot) close() { unix.Close(s.dir) }

// walker resolves one path.
type walker struct {
	base   string // real directory where the walk begins and absolute links lead back to
	jailed bool   // leaving base is an error
	dir    int
	done   []string // components of dir below base, none of them a link
	todo   []string
	links  int
	steps  int
}

// locate walks to clean for reading. follow resolves a link at the end too.
func (f *Files) locate(op, clean string, follow bool) (*spot, error) {
	s, err := walk(&walker{base: "/", todo: split(f.real(clean))}, follow)
	if err == nil && len(s.missing) > 0 {
		s.close()
		err = unix.ENOENT
	}
	return s, Fail(op, clean, err)
}

// locateInside walks to a path below the workspace for changing it.
// Directories on the way may be missing.
func (f *Files) locateInside(op, clean, below string, follow bool) (*spot, error) {
	s, err := walk(&walker{base: f.dir, jailed: true, todo: split(below)}, follow)
	if err == errEscapes {
		return nil, refuse(protocol.ErrEscapes, op, clean,
			"a symbolic link leads outside "+protocol.Workspace+"; name the target itself or use a command")
	}
	return s, Fail(op, clean, err)
}

func walk(w *walker, follow bool) (*spot, error) {
	dir, err := openDir(unix.AT_FDCWD, w.base)
	if err != nil {
		return nil, err
	}
	w.dir = dir
	if err := w.run(follow); err != nil {
		unix.Close(w.dir)
		return nil, err
	}
	s := &spot{dir: w.dir, at: w.done, name: "."}
	if n := len(w.todo); n > 0 {
		s.missing, s.name = w.todo[:n-1], w.todo[n-1]
	}
	return s, nil
}

// run goes on until what is left to do is one final name, or does not exist.
func (w *walker) run(follow bool) error {
	for len(w.todo) > 1 || follow && len(w.todo) == 1 {
		if w.steps++; w.steps > maxSteps {
			return unix.ELOOP
		}
		more, err := w.step()
		if !more || err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) step() (more bool, err error) {
	name := w.todo[0]
	if name == ".." {
		return true, w.up()
	}
	target, err := readlink(w.dir, name)
	switch {
	case err == nil:
		return true, w.link(target)
	case len(w.todo) == 1:
		return false, nil
	}
	err = w.enter(name)
	if err == unix.ENOENT && !slices.Contains(w.todo, "..") {
		return false, nil
	}
	return true, err
}

// enter makes name, a directory and no link, the current directory.
func (w *walker) enter(name string) error {
	dir, err := openDir(w.dir, name)
	if err != nil {
		return err
	}
	unix.Close(w.dir)
	w.dir, w.done, w.todo = dir, append(w.done, name), w.todo[1:]
	return refuseOwn(dir)
}

// link puts the text of a link in the place of its name.
func (w *walker) link(target string) error {
	if w.links++; w.links > maxLinks {
		return unix.ELOOP
	}
	parts, rest := split(target), w.todo[1:]
	if target[0] != '/' {
		w.todo = slices.Concat(parts, rest)
		return nil
	}
	base := split(w.base)
	if len(parts) < len(base) || !slices.Equal(parts[:len(base)], base) {
		return errEscapes
	}
	return w.restart(slices.Concat(parts[len(base):], rest))
}

// up takes a ".." by walking again to the parent: the current directory may
// have moved since it was entered, and its own ".." with it.
func (w *walker) up() error {
	n := len(w.done)
	if n == 0 {
		if w.jailed {
			return errEscapes
		}
		n = 1 // the root is its own parent
	}
	return w.restart(slices.Concat(w.done[:min(n-1, len(w.done))], w.todo[1:]))
}

func (w *walker) restart(todo []string) error {
	dir, err := openDir(unix.AT_FDCWD, w.base)
	if err != nil {
		return err
	}
	unix.Close(w.dir)
	w.dir, w.done, w.todo = dir, nil, todo
	return nil
}
