// Package tree copies a file or a directory of this machine into a tar, and a tar
// into a directory of this machine. It keeps names, contents, permission bits,
// times and symbolic links; hard links on the way in only, out they are files.
//
// What comes in is believed nothing. Nothing is written outside the directory, or
// through a link in it, and no link is left that leads outside: whoever works in
// the directory afterwards would follow it.
package tree

import "fmt"

// Options say how to copy.
type Options struct {
	// Top: the directory itself gets mode and time too, not only what is in it.
	Top bool
	// AllLinks: symbolic links that lead outside are made as well.
	AllLinks bool
	// Skipped is told what is left out and why: devices, FIFOs and sockets, what
	// cannot be read, links that lead outside, names that this system does not
	// have. It must not be nil.
	Skipped func(name, why string)
}

// badEntry is a tar that no server of ours makes.
func badEntry(name, why string) error { return fmt.Errorf("extract %q: %s", name, why) }
