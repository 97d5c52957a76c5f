// Package archive turns a directory into a tar and a tar into a directory, as
// an ordinary user inside a sandbox: for snapshots, rollbacks and forks, and for
// the archives that callers download and upload.
//
// # Out
//
// [Pack] writes a PAX tar in sorted order. It keeps names and link texts byte
// for byte, contents, permission bits and the sticky bit, modification times to
// the nanosecond (of directories and links too), hard links, FIFOs, empty
// directories, user.* attributes and the directory's own mode and time (the
// entry "./"). It drops setuid and setgid, and leaves out sockets, devices and
// what is mounted inside.
//
// The tree may change meanwhile. What vanishes is left out, and a file that
// changes its size is cut or padded with zeros to the size that its header has,
// so the tar can always be read. What its owner may not read (mode 000) is
// opened for the moment of reading and closed again.
//
// # In
//
// [Unpack] believes nothing. Every entry is made with a name of one component,
// in a directory that was opened component by component without following a
// link, and never over something: what is there is removed first. So nothing
// outside the directory is touched, whatever names, links and order a tar has.
// Modes and times of directories are set at the end, from the deepest up, since
// making entries needs the one and changes the other.
//
// Both count uncompressed bytes and stop at a bound, hold one directory (or one
// entry) in memory, not the tree, and end soon after their context does.
package archive
