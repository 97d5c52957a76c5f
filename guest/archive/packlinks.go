//go:build linux

package archive

import "golang.org/x/sys/unix"

// inode is what the names of one file have in common.
type inode struct{ dev, ino uint64 }

// linked is a file in the tar that has more names still to come.
type linked struct {
	path string
	left uint64
}

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }

// remember notes the first name of a file that has several.
func (p *packer) remember(st *unix.Stat_t, path string) {
	if st.Nlink > 1 {
		p.links[inodeOf(st)] = &linked{path: path, left: uint64(st.Nlink) - 1}
	}
}

// linkedTo gives the name under which a file is in the tar already. When the
// last of its names has come, it is forgotten.
func (p *packer) linkedTo(st *unix.Stat_t) string {
	if st.Nlink < 2 {
		return ""
	}
	first := p.links[inodeOf(st)]
	if first == nil {
		return ""
	}
	if first.left--; first.left == 0 {
		delete(p.links, inodeOf(st))
	}
	return first.path
}
