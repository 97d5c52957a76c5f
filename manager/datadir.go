package manager

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrDataDirHeld is the cause of New's error when another server owns the data
// directory.
var ErrDataDirHeld = errors.New("data directory is held by another server")

const (
	lockName = "lock"
	pidName  = "lock.pid"
)

// takeDataDir makes the directory this process's, until the lock is closed.
func takeDataDir(dir string, log *slog.Logger) (lock *flock.Flock, instance string, err error) {
	d, err := openDataDir(dir, log)
	if err != nil {
		return nil, "", err
	}
	home, err := homeOf(dir)
	if err != nil {
		return nil, "", err
	}
	if lock, err = d.hold(); err != nil {
		return nil, "", err
	}
	d.clearDrafts()
	if instance, err = d.settle(home); err == nil {
		err = d.signHolder()
	}
	if err != nil {
		lock.Close()
	}
	return lock, instance, err
}

// openDataDir makes the directory when it is missing, and makes sure that it is
// the server's own. One that is somebody else's is left as it is.
func openDataDir(dir string, log *slog.Logger) (folder, error) {
	d := folder{dir: dir, log: log}
	if err := makeDirs(dir); err != nil {
		return d, fmt.Errorf("make data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return d, fmt.Errorf("look at data directory: %w", err)
	}
	// Refused, not mended: it may well be theirs.
	if mode := info.Mode().Perm(); mode&0o002 != 0 && runtime.GOOS != "windows" {
		return d, fmt.Errorf("look at data directory: everybody may write to it (mode %o); make it yours by chmod 700", mode)
	}
	if err := checkOurs(dir); err != nil {
		return d, err
	}
	keepPrivate(dir, info, log)
	return d, nil
}

// makeDirs is os.MkdirAll for nobody but the server, and survives a power cut.
func makeDirs(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDirs(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	_ = syncDir(parent) // as well as can be: not every parent may be read
	return nil
}

// checkOurs refuses a directory that has something in it and was not made by a
// server: it is somebody's, and the server removes files in its own.
func checkOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	// Releases before the mark made these two.
	if names[markName] || names[pidName] && names["sandboxes"] {
		return nil
	}
	for _, e := range entries {
		if name := e.Name(); !ofNobody[name] && !strings.HasPrefix(name, "."+markName) {
			return fmt.Errorf("it is not empty and no data directory of mcp-sandbox: there is %q in it; name one that is empty or does not exist yet", name)
		}
	}
	return nil
}

// ofNobody is what may be in a directory that nobody uses: what a first start
// leaves that is cut off, and what file systems put into new ones.
var ofNobody = map[string]bool{lockName: true, pidName: true, "lost+found": true, ".DS_Store": true}

// hold takes the directory for this process. The kernel drops the lock with the
// process, so none is left over from a crash.
func (d folder) hold() (*flock.Flock, error) {
	d.makeWay(lockName)
	lock := flock.New(filepath.Join(d.dir, lockName), flock.SetFlag(os.O_CREATE|os.O_RDONLY|openFlags), flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if !got {
		return nil, heldError(d.dir)
	}
	return lock, nil
}

var dataDirDraft = regexp.MustCompile(`^\.(lock\.pid|mcp-sandbox\.id)[0-9]+$`)

// clearDrafts removes what a write of one of the directory's own files has left
// that a crash cut off. The caller holds the directory.
func (d folder) clearDrafts() {
	entries, _ := os.ReadDir(d.dir) // failing is no harm: the next start clears them
	for _, e := range entries {
		if dataDirDraft.MatchString(e.Name()) {
			d.clear(e)
		}
	}
}

// makeWay puts the mode of a file right, and sets aside what cannot be one.
func (d folder) makeWay(name string) {
	info, err := os.Lstat(filepath.Join(d.dir, name))
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		d.setAside(name, errNotRegular)
	default:
		keepPrivate(filepath.Join(d.dir, name), info, d.log)
	}
}

// signHolder writes down who holds the lock, for the next one to say so. It has
// a file of its own: where locks are mandatory nobody could read the locked one.
// A full disk stops no start, and leaves no wrong name.
func (d folder) signHolder() error {
	d.makeWay(pidName)
	path := filepath.Join(d.dir, pidName)
	err := writeDurably(path, []byte(strconv.Itoa(os.Getpid())+"\n"))
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		d.log.Error("data directory is full", "error", err)
		err = removeFile(path)
	}
	return storeError("write owner of data directory", err)
}

// DataDirHolder is the process ID of the server that has the data directory, or
// had it last; empty where it is not known.
func DataDirHolder(dir string) string {
	data, _ := readRegular(filepath.Join(dir, pidName), 64)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 0 {
		return ""
	}
	return strconv.Itoa(pid)
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
