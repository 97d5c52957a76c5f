//go:build unix

package local

import (
	"fmt"
	"os"
	"syscall"
)

const errRefused = syscall.ECONNREFUSED

// restrict closes a file or directory to others.
func restrict(path string, mode os.FileMode) error { return os.Chmod(path, mode) }

// checkOurs refuses a directory that is not of the user whose data directory
// names it. The one that was meant may be long gone, and in a place for all of
// the machine anybody can make one of its name.
func checkOurs(dir, like string) error {
	got, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	want, err := os.Stat(like)
	if err != nil {
		return err
	}
	if !got.IsDir() || got.Mode().Perm()&0o077 != 0 || owner(got) != owner(want) {
		return fmt.Errorf("%s is not a private directory of the same user", dir)
	}
	return nil
}

func owner(i os.FileInfo) uint32 { return i.Sys().(*syscall.Stat_t).Uid }
