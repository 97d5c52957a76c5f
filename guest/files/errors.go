//go:build linux

package files

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// refuse is an error of ours: why says what is wrong and what to do.
func refuse(code protocol.Code, op, name, why string) error {
	return &protocol.Error{Code: code, Message: op + " " + Show(name) + ": " + why}
}

// meaning is what a kernel error says to the owner of a sandbox.
type meaning struct {
	code protocol.Code
	text string
}

var meanings = map[unix.Errno]meaning{
	unix.ENOENT:       {protocol.ErrNotFound, "no such file or directory"},
	unix.EEXIST:       {protocol.ErrExists, "something is there already"},
	unix.ENOTEMPTY:    {protocol.ErrNotEmpty, "the directory is not empty; delete it with recursive set"},
	unix.ENOTDIR:      {protocol.ErrWrongType, "a part of the path is not a directory"},
	unix.EISDIR:       {protocol.ErrWrongType, "it is a directory"},
	unix.ENXIO:        {protocol.ErrWrongType, "not a regular file (FIFO, socket or device); use a command instead"},
	unix.ENODEV:       {protocol.ErrWrongType, "not a regular file (device); use a command instead"},
	unix.EACCES:       {protocol.ErrPermission, "the sandbox user may not do this; check the mode of the file and its directories, and change it with chmod"},
	unix.EPERM:        {protocol.ErrPermission, "the sandbox user may not do this; the file may belong to someone else"},
	unix.EROFS:        {protocol.ErrPermission, "on a read-only file system"},
	unix.EBUSY:        {protocol.ErrPermission, "in use by the system (a mount point)"},
	unix.ETXTBSY:      {protocol.ErrPermission, "the file is a program that is running"},
	unix.ENOSPC:       {protocol.ErrNoSpace, "no space left on the disk; delete something first"},
	unix.EDQUOT:       {protocol.ErrNoSpace, "the disk quota is used up; delete something first"},
	unix.EFBIG:        {protocol.ErrTooLarge, "larger than the file system or a limit allows"},
	unix.E2BIG:        {protocol.ErrTooLarge, "an extended attribute is larger than the file system allows"},
	unix.ENAMETOOLONG: {protocol.ErrInvalid, "a name or the path is too long"},
	unix.ELOOP:        {protocol.ErrInvalid, "too many symbolic links, or one that changed meanwhile"},
	unix.EINVAL:       {protocol.ErrInvalid, "not possible with this path"},
	unix.EXDEV:        {protocol.ErrInvalid, "source and target are on different file systems"},
	unix.EMLINK:       {protocol.ErrInvalid, "too many links to one file"},
	unix.EMFILE:       {protocol.ErrBusy, "too many files are open, or directories nest too deep"},
	unix.ENFILE:       {protocol.ErrBusy, "too many files are open; try again"},
}

// Fail turns the error of a system call into a [protocol.Error] that names the
// path. It leaves alone what is one already, and the end of a context.
func Fail(op, name string, err error) error {
	var done *protocol.Error
	var errno unix.Errno
	switch {
	case err == nil:
		return nil
	case errors.As(err, &done):
		return done
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s %s: %w", op, Show(name), err)
	case errors.As(err, &errno):
		if m, ok := meanings[errno]; ok {
			return refuse(m.code, op, name, m.text)
		}
	}
	return refuse(protocol.ErrInternal, op, name, err.Error())
}
