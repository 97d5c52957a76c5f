//go:build linux

package files

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// OpenDir opens any directory of the sandbox to make a tar of. The descriptor
// is good for *at calls only (O_PATH): the directory need not be readable.
func (f *Files) OpenDir(raw []byte) (*os.File, error) {
	const op = "archive"
	clean, err := parse(op, raw)
	if err != nil {
		return nil, err
	}
	at, err := f.locate(op, clean, true)
	if err != nil {
		return nil, err
	}
	defer at.close()
	fd, err := openDir(at.dir, at.name)
	if err == unix.ENOTDIR {
		return nil, refuse(protocol.ErrWrongType, op, clean, "not a directory")
	}
	if err != nil {
		return nil, Fail(op, clean, err)
	}
	if err := refuseOwn(fd); err != nil {
		unix.Close(fd)
		return nil, Fail(op, clean, err)
	}
	return os.NewFile(uintptr(fd), clean), nil
}

// OpenTarget opens a directory in the workspace to extract a tar into, and
// makes it when it is missing. The descriptor is as OpenDir's.
func (f *Files) OpenTarget(raw []byte) (*os.File, error) {
	const op = "extract into"
	clean, below, err := parseInside(op, raw)
	if err != nil {
		return nil, err
	}
	fd, err := f.makeDir(op, clean, below, newDirMode)
	if err != nil {
		return nil, Fail(op, clean, err)
	}
	return os.NewFile(uintptr(fd), clean), nil
}
