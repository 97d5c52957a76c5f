//go:build linux

package files

import (
	"crypto/rand"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const copyBuffer = 128 << 10

// draft is a file that is still being written. It has no name where the file
// system can do that (O_TMPFILE), else a name that discard removes.
type draft struct {
	fd   int
	dir  int    // where the name is; not owned
	name string // "": none
}

func newDraft(dir int) (*draft, error) {
	fd, err := openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	switch err {
	case nil:
		return &draft{fd: fd, dir: dir}, nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOENT:
		// Each of these means no O_TMPFILE on some kernel or file system.
		return newNamedDraft(dir)
	}
	return nil, err
}

func newNamedDraft(dir int) (*draft, error) {
	name := tempName()
	fd, err := openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &draft{fd: fd, dir: dir, name: name}, nil
}

func tempName() string { return ".mcp-sandbox-" + rand.Text() }

func (d *draft) fill(body io.Reader) error {
	// Hide the other methods of the two: io.CopyBuffer would not use the buffer.
	to := struct{ io.Writer }{fdWriter(d.fd)}
	_, err := io.CopyBuffer(to, struct{ io.Reader }{body}, make([]byte, copyBuffer))
	return err
}

// publish gives the draft its name, in place of a file that has it.
func (d *draft) publish(dir int, name string) error {
	if d.name == "" {
		err := d.link(dir, name)
		if err != unix.EEXIST {
			return err
		}
		temp := tempName() // a link cannot replace, a rename can
		if err := d.link(dir, temp); err != nil {
			return err
		}
		d.dir, d.name = dir, temp
	}
	if err := unix.Renameat(d.dir, d.name, dir, name); err != nil {
		d.unname()
		return err
	}
	d.name = ""
	return nil
}

func (d *draft) link(dir int, name string) error {
	return unix.Linkat(unix.AT_FDCWD, ProcPath(d.fd), dir, name, unix.AT_SYMLINK_FOLLOW)
}

func (d *draft) unname() {
	if d.name != "" {
		_ = unix.Unlinkat(d.dir, d.name, 0)
		d.name = ""
	}
}

// discard ends the draft; what was published stays.
func (d *draft) discard() {
	d.unname()
	unix.Close(d.fd)
}

// fdWriter writes to a descriptor, whose errors stay plain.
type fdWriter int

func (w fdWriter) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := unix.Write(int(w), p[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, os.NewSyscallError("write", err)
		}
		done += n
	}
	return done, nil
}
