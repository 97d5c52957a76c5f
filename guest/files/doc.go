// Package files is what a guest does with files for its server: read, write,
// stat, list, mkdir, move and delete, as plain functions with no transport.
//
// The guest runs as the sandbox's user beside programs that may change the tree
// at any moment, so a path is never handed to the kernel whole. A walker goes
// through it one component at a time, opens each directory with O_NOFOLLOW and
// resolves symbolic links itself, by their text. That gives three things:
//
//   - Reads may name any path of the sandbox, but a link in /proc that is no
//     ordinary link (/proc/self/fd/7, /proc/1/root) leads where its text says,
//     never to the thing behind it, and the guest's own directory in /proc is
//     closed. The guest can always open what is its own, so without this a
//     caller could read the channel to the server.
//   - Changes stay inside the workspace: a link or ".." that leads out of it is
//     an error, and a directory that is swapped for a link between two steps is
//     too. [os.Root] promises the same, but it refuses every absolute link
//     (virtual environments are full of them), must be able to read each
//     directory on the way, and can be made to wait on a FIFO.
//   - Nothing waits: every open is non-blocking and the type is looked at before
//     a byte is read, so a FIFO, socket or device is an error at once.
//
// A write is atomic. The content goes into a file with no name (O_TMPFILE) and
// gets its name when it is whole, so a body that is cut off leaves the old
// content and nothing else.
//
// Errors are *[protocol.Error] with a message for the sandbox's owner; a context
// that ended is the one other kind.
package files
