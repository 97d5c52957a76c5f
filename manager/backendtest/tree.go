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
	stack, names := []*node{n}, []string{""}
	todo, links := strings.Split(path, "/"), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		dir := stack[len(stack)-1]
		if !dir.isDir() {
			return place{}, fail(manager.KindInvalid, "%s: not a directory", path)
		}
		if name == ".." && len(stack) > 1 {
			stack, names = stack[:len(stack)-1], names[:len(names)-1]
		}
		if name == "" || name == "." || name == ".." {
			continue
		}
		child := dir.children[name]
		if child == nil {
			if strings.Trim(strings.Join(todo, ""), "/.") != "" {
				return place{}, notFound(path)
			}
			return place{parent: dir, name: name, path: strings.Join(append(names, name), "/")}, nil
		}
		if child.typ == schemas.TypeSymlink && (follow || len(todo) > 0) {
			if links++; links > maxLinks {
				return place{}, fail(manager.KindInvalid, "%s: too many levels of symbolic links", path)
			}
			if strings.HasPrefix(child.target, "/") {
				stack, names = stack[:1], names[:1]
			}
			todo = append(strings.Split(child.target, "/"), todo...)
			continue
		}
		stack, names = append(stack, child), append(names, name)
	}
	p := place{node: stack[len(stack)-1], name: names[len(names)-1], path: "/" + strings.Join(names[1:], "/")}
	if len(stack) > 1 {
		p.parent = stack[len(stack)-2]
	}
	return p, nil
}

func notFound(path string) *manager.Error {
	return fail(manager.KindNotFound, "%s: no such file or directory", path)
}
