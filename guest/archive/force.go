//go:build linux

package archive

import (
	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
)

// openFile opens a file for reading, also one that is closed to its owner. The
// mode is changed only for the moment of opening.
func openFile(dir int, name string) (int, error) {
	fd, err := openat(dir, name, unix.O_RDONLY, 0)
	if err != unix.EACCES {
		return fd, err
	}
	path, err := openat(dir, name, unix.O_PATH, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(path)
	restore, err := permit(path, 0o400)
	defer restore()
	if err != nil {
		return -1, err
	}
	return reopen(path, unix.O_RDONLY)
}

// directory is one that is open for reading, and how it was before.
type directory struct {
	fd     int
	st     unix.Stat_t
	forced bool // its mode was changed to open it
}

// close gives the directory back the mode that it had.
func (d *directory) close() {
	if d.forced {
		_ = unix.Fchmod(d.fd, d.st.Mode&0o7777)
	}
	unix.Close(d.fd)
}

// openDir opens a directory for reading and for opening what is in it.
func openDir(dir int, name string) (*directory, error) {
	path, err := openPath(dir, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(path)
	d := new(directory)
	if err := unix.Fstat(path, &d.st); err != nil {
		return nil, err
	}
	restore := func() {}
	if d.st.Mode&0o500 != 0o500 {
		restore, err = permit(path, 0o500)
		d.forced = err == nil // when it may not, opening says so
	}
	d.fd, err = openat(path, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		restore()
		return nil, err
	}
	return d, nil
}

// permit adds permissions to what path (an O_PATH descriptor) is.
func permit(path int, bits uint32) (restore func(), err error) {
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return func() {}, err
	}
	old := st.Mode & 0o7777
	if err := files.Chmod(path, old|bits); err != nil {
		return func() {}, unix.EACCES
	}
	return func() { _ = files.Chmod(path, old) }, nil
}

// reopen opens the very file that path is.
func reopen(path, flags int) (int, error) {
	return unix.Open(files.ProcPath(path), flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
}
