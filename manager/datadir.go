package manager

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// ErrDataDirHeld is the cause of New's error when another server owns the data
// directory.
var ErrDataDirHeld = errors.New("data directory is held by another server")

// lockDataDir makes the directory and takes it for this process. The kernel
// drops the lock with the process, so none is left over from a crash.
func lockDataDir(dir string) (*flock.Flock, error) {
	if err := makeDataDir(dir); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	// The pid has a file of its own: where locks are mandatory nobody could
	// read it from the locked one.
	owner := filepath.Join(dir, "lock.pid")
	if !got {
		return nil, heldError(dir)
	}
	if err := os.WriteFile(owner, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		lock.Close()
		return nil, storeError("write owner of data directory", err)
	}
	return lock, nil
}

// makeDataDir makes the directory, for nobody but the server. One that is there
// and that everybody may write to is refused, not mended: it may well be theirs.
func makeDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at data directory: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("look at data directory: everybody may write to it (mode %o); make it yours by chmod 700", mode)
	}
	return nil
}

// DataDirHolder is the process ID of the server that has the data directory, or
// had it last; empty where it is not known.
func DataDirHolder(dir string) string {
	pid, _ := os.ReadFile(filepath.Join(dir, "lock.pid"))
	return strings.TrimSpace(string(pid))
}

func heldError(dir string) error {
	who := "another server"
	if pid := DataDirHolder(dir); pid != "" {
		who = "the server with process ID " + pid
	}
	return &Error{
		Kind: KindConflict, Cause: ErrDataDirHeld,
		Message: fmt.Sprintf("data directory %s is in use by %s", dir, who),
		Hint:    "Stop that server, or give this one another data directory.",
	}
}
