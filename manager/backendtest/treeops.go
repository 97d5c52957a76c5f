package backendtest

import (
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const workspace = "/workspace"

// What the guest and the fake's programs do with a file tree. Writes must land
// inside the workspace, also after links; the programs check for themselves.

// find resolves a path that must be there.
func (n *node) find(path string, follow bool) (place, error) {
	p, err := n.walk(path, follow)
	if err == nil && p.node == nil {
		err = notFound(path)
	}
	return p, err
}

// read returns a regular file's content.
func (n *node) read(path string) ([]byte, place, error) {
	p, err := n.find(path, true)
	if err != nil {
		return nil, p, err
	}
	switch p.node.typ {
	case schemas.TypeFile:
	case schemas.TypeDirectory:
		return nil, p, fail(manager.KindInvalid, "%s: it is a directory; list it, or name a file in it", path)
	default:
		return nil, p, fail(manager.KindInvalid, "%s: not a regular file", path)
	}
	if p.node.mode&0o400 == 0 {
		return nil, p, fail(manager.KindForbidden, "%s: permission denied", path)
	}
	return p.node.data, p, nil
}

// confined resolves where a write would land.
func (n *node) confined(path string, follow bool) (place, error) {
	p, err := n.walk(path, follow)
	if err == nil && p.path != workspace && !strings.HasPrefix(p.path, workspace+"/") {
		err = fail(manager.KindInvalid, "%s: outside %s", path, workspace)
	}
	return p, err
}

// write replaces or makes a regular file, and its parents.
func (n *node) write(path string, data []byte, mode *uint32) (place, error) {
	if dir := parentOf(path); dir != workspace {
		if _, err := n.mkdirAll(dir); err != nil {
			return place{}, err
		}
	}
	p, err := n.confined(path, true)
	if err != nil {
		return place{}, err
	}
	if p.node != nil && p.node.typ != schemas.TypeFile {
		return place{}, fail(manager.KindInvalid, "%s: not a regular file", path)
	}
	m := uint32(0o644)
	if p.node != nil {
		m = p.node.mode
	}
	if mode != nil {
		m = *mode
	}
	p.node = newFile(m, data)
	p.parent.put(p.name, p.node)
	return p, nil
}

// mkdirAll makes a directory with its parents; one that is there is fine.
func (n *node) mkdirAll(path string) (p place, err error) {
	at := ""
	for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
		at += "/" + name
		if p, err = n.confined(at, true); err != nil {
			return place{}, err
		}
		if p.node == nil {
			p.node = newDir(0o755)
			p.parent.put(p.name, p.node)
		}
		if !p.node.isDir() {
			return place{}, fail(manager.KindConflict, "%s: exists and is not a directory", at)
		}
	}
	return p, nil
}

// move renames, and replaces a file at the new name.
func (n *node) move(from, to string) (place, error) {
	src, err := n.confined(from, false)
	if err != nil {
		return place{}, err
	}
	if src.node == nil {
		return place{}, notFound(from)
	}
	if dir := parentOf(to); dir != workspace {
		if _, err := n.mkdirAll(dir); err != nil {
			return place{}, err
		}
	}
	dst, err := n.confined(to, false)
	if err != nil {
		return place{}, err
	}
	if src.parent == nil || dst.parent == nil || src.path == workspace || strings.HasPrefix(dst.path+"/", src.path+"/") && dst.path != src.path {
		return place{}, fail(manager.KindInvalid, "%s: cannot be moved to %s", from, to)
	}
	if dst.node != nil && dst.node != src.node && (dst.node.isDir() || src.node.isDir()) {
		return place{}, fail(manager.KindConflict, "%s: exists", to)
	}
	src.parent.drop(src.name)
	dst.parent.put(dst.name, src.node)
	dst.node = src.node
	return dst, nil
}

// remove deletes a name; a directory with something in it only recursively.
func (n *node) remove(path string, recursive bool) error {
	p, err := n.confined(path, false)
	if err != nil {
		return err
	}
	switch {
	case p.node == nil:
		return notFound(path)
	case p.path == workspace:
		return fail(manager.KindInvalid, "%s: the workspace itself cannot be deleted; delete what is in it", path)
	case len(p.node.children) > 0 && !recursive:
		return fail(manager.KindInvalid, "%s: directory not empty", path)
	}
	p.parent.drop(p.name)
	return nil
}

func parentOf(path string) string {
	i := strings.LastIndexByte(strings.TrimRight(path, "/"), '/')
	return path[:max(i, 0)]
}
