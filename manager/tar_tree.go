package manager

import (
	"hash/maphash"
	"strings"
)

// tarTree is what the entries of a tar have made so far, when they are extracted
// into an empty directory by the guest's rules. It keeps hashes of paths, some
// tens of bytes for each, however long they are; the seed is its own, so nobody
// can aim at two paths with one hash.
type tarTree struct {
	seed  maphash.Seed
	nodes map[uint64]tarNode
}

// tarNode is what is at a path. What was made is replaced but never removed, so a
// directory that has something in it keeps that.
type tarNode uint8

const (
	tarNothing  tarNode = iota
	tarFile             // or anything else that is no directory
	tarEmptyDir         // a directory with nothing in it
	tarFullDir
)

func newTarTree() *tarTree {
	return &tarTree{seed: maphash.MakeSeed(), nodes: map[uint64]tarNode{}}
}

// made is how many paths there are.
func (t *tarTree) made() int64 { return int64(len(t.nodes)) }

// parents makes the directories above a path, and tells that something is in
// them. It stops at the first that is no directory, and returns how deep that is.
func (t *tarTree) parents(parts []string) (obstacle int) {
	h := t.hash()
	for i, part := range parts[:len(parts)-1] {
		key := step(h, part)
		if t.nodes[key] == tarFile {
			return i + 1
		}
		t.nodes[key] = tarFullDir
	}
	return 0
}

// put makes a path whose parents are there. It is false when a directory that is
// not empty is in the way.
func (t *tarTree) put(parts []string, what tarNode) bool {
	key := t.key(parts)
	if t.nodes[key] == tarFullDir {
		return what != tarFile
	}
	t.nodes[key] = what
	return true
}

// at is what is at a path. That of something below a file is nothing.
func (t *tarTree) at(parts []string) tarNode { return t.nodes[t.key(parts)] }

func (t *tarTree) key(parts []string) (key uint64) {
	h := t.hash()
	for _, part := range parts {
		key = step(h, part)
	}
	return key
}

func (t *tarTree) hash() *maphash.Hash {
	h := &maphash.Hash{}
	h.SetSeed(t.seed)
	return h
}

// step goes one name down. No name has a slash.
func step(h *maphash.Hash, name string) uint64 {
	_, _ = h.WriteString(name)
	_ = h.WriteByte('/')
	return h.Sum64()
}

// upTo is the path of an entry's ancestor.
func upTo(parts []string, depth int) string { return strings.Join(parts[:depth], "/") }
