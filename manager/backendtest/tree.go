package backendtest

import (
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// node is one file, directory, link or FIFO. A hard link is the same node under
// two names. data is replaced or appended to, never changed in place, so that a
// copy may share it.
type node struct {
	typ      schemas.FileType // TypeOther is a FIFO
	mode     uint32
	mtime    time.Time
	data     []byte
	target   string
	xattrs   map[string]string
	children map[string]*node
}

func newDir(mode uint32) *node {
	return &node{typ: schemas.TypeDirectory, mode: mode, mtime: now(), children: map[string]*node{}}
}

func newFile(mode uint32, data []byte) *node {
	return &node{typ: schemas.TypeFile, mode: mode, mtime: now(), data: data}
}

// newRoot is a root file system like busybox's, with a volume's tree in it.
func newRoot(workspace *node) *node {
	root := newDir(0o755)
	for _, name := range []string{"bin", "etc", "dev", "proc"} {
		root.children[name] = newDir(0o755)
	}
	root.children["tmp"] = newDir(0o1777)
	root.children["workspace"] = workspace
	root.children["bin"].children["sh"] = newFile(0o755, []byte("\x7fELF"))
	root.children["etc"].children["passwd"] = newFile(0o644, []byte("root:x:0:0::/:/bin/sh\n"))
	return root
}

func (n *node) isDir() bool { return n.typ == schemas.TypeDirectory }

// put adds or replaces a child.
func (n *node) put(name string, child *node) {
	n.children[name] = child
	n.mtime = now()
}

// drop removes a child.
func (n *node) drop(name string) {
	delete(n.children, name)
	n.mtime = now()
}

// clone copies a tree; hard links stay hard links. seen maps old to new.
func (n *node) clone(seen map[*node]*node) *node {
	if c := seen[n]; c != nil {
		return c
	}
	c := *n
	c.data = n.data[:len(n.data):len(n.data)]
	seen[n] = &c
	if n.children != nil {
		c.children = make(map[string]*node, len(n.children))
		for name, child := range n.children {
			c.children[name] = child.clone(seen)
		}
	}
	return &c
}

// place is where a path leads: node is nil when only the parent is there.
type place struct {
	parent *node
	name   string
	node   *node
	path   string // absolute, with no link in it
}

const maxLinks = 40 // as the kernel

// walk resolves an absolute path. A link at its end is followed when follow is set.
func (n *node) walk(path string, follow bool) (place, error) {
	w := &walker{path: path, todo: strings.Split(path, "/"), stack: []*node{n}, names: []string{""}}
	for len(w.todo) > 0 {
		name := w.todo[0]
		w.todo = w.todo[1:]
		if !w.top().isDir() {
			return place{}, fail(manager.KindInvalid, "%s: not a directory", path)
		}
		if name == "" || name == "." || name == ".." {
			w.stay(name)
			continue
		}
		child := w.top().children[name]
		if child == nil {
			return w.missing(name)
		}
		if child.typ == schemas.TypeSymlink && (follow || len(w.todo) > 0) {
			if err := w.follow(child.target); err != nil {
				return place{}, err
			}
			continue
		}
		w.stack, w.names = append(w.stack, child), append(w.names, name)
	}
	return w.arrived(), nil
}

// walker is on its way along a path: stack and names lead to where it stands.
type walker struct {
	path  string
	todo  []string
	stack []*node
	names []string
	links int
}

func (w *walker) top() *node { return w.stack[len(w.stack)-1] }

// stay handles names that lead nowhere, or up.
func (w *walker) stay(name string) {
	if name == ".." && len(w.stack) > 1 {
		w.stack, w.names = w.stack[:len(w.stack)-1], w.names[:len(w.names)-1]
	}
}

func (w *walker) follow(target string) error {
	if w.links++; w.links > maxLinks {
		return fail(manager.KindInvalid, "%s: too many levels of symbolic links", w.path)
	}
	if strings.HasPrefix(target, "/") {
		w.stack, w.names = w.stack[:1], w.names[:1]
	}
	w.todo = append(strings.Split(target, "/"), w.todo...)
	return nil
}

// missing is the end of a path whose last name is not there; one before it must be.
func (w *walker) missing(name string) (place, error) {
	if strings.Trim(strings.Join(w.todo, ""), "/.") != "" {
		return place{}, notFound(w.path)
	}
	return place{parent: w.top(), name: name, path: strings.Join(append(w.names, name), "/")}, nil
}

func (w *walker) arrived() place {
	p := place{node: w.top(), name: w.names[len(w.names)-1], path: "/" + strings.Join(w.names[1:], "/")}
	if len(w.stack) > 1 {
		p.parent = w.stack[len(w.stack)-2]
	}
	return p
}

func notFound(path string) *manager.Error {
	return fail(manager.KindNotFound, "%s: no such file or directory", path)
}
