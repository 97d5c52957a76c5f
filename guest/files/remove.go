//go:build linux

package files

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// RemoveTree removes name in dir and all below it, without following a link.
// It opens directories that are closed to their owner (0555, 000) to do so. What
// is gone already is no error.
func RemoveTree(ctx context.Context, dir int, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := remove(dir, name)
	if err != unix.ENOTEMPTY && err != unix.EEXIST {
		return ignoreGone(err)
	}
	sub, err := OpenForced(dir, name)
	if err != nil {
		return ignoreGone(err)
	}
	err = EmptyTree(ctx, sub)
	sub.Close()
	if err != nil {
		return err
	}
	return ignoreGone(unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
}

// EmptyTree removes all that is in dir. It reads the directory again until
// nothing is left: a pass may miss entries while others are being removed.
func EmptyTree(ctx context.Context, dir *os.File) error {
	for {
		found, err := emptyOnce(ctx, dir)
		if !found || err != nil {
			return err
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

func emptyOnce(ctx context.Context, dir *os.File) (found bool, err error) {
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			found = true
			if err := RemoveTree(ctx, int(dir.Fd()), name); err != nil {
				return found, err
			}
		}
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, err
		}
	}
}

// OpenForced opens the directory name in dir for reading and changing, and for
// that gives its owner every permission on it.
func OpenForced(dir int, name string) (*os.File, error) {
	path, err := openDir(dir, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(path)
	return ReopenForced(path)
}

// ReopenForced is OpenForced for a directory that is open with O_PATH.
func ReopenForced(path int) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return nil, err
	}
	if st.Mode&0o700 != 0o700 {
		// When this fails, opening says what is wrong.
		_ = Chmod(path, st.Mode&0o7777|0o700)
	}
	fd, err := openat(path, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "."), nil
}

func ignoreGone(err error) error {
	if err == unix.ENOENT {
		return nil
	}
	return err
}
