package manager

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
)

// folder is one directory of records in the data directory. Whatever a crash, a
// full disk or a stray hand has left in it is harmless: nothing but a regular
// file is opened, no link is followed, and what is no file of ours stays.
type folder struct {
	dir string
	log *slog.Logger
}

// maxRecord is the most bytes of a record. The largest part is the environment,
// of which a request may bring 1.5 MiB, and JSON may take six bytes for one.
const maxRecord = 32 << 20

var errNotRegular = errors.New("it is not a regular file")

// openFolder makes the directory when it is missing, closes it to others, and
// lists it.
func openFolder(dataDir, name string, log *slog.Logger) (folder, []fs.DirEntry, error) {
	f := folder{dir: filepath.Join(dataDir, name), log: log}
	if err := os.Mkdir(f.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return f, nil, fmt.Errorf("make %s: %w", name, err)
	}
	info, err := os.Lstat(f.dir)
	if err != nil {
		return f, nil, fmt.Errorf("look at %s: %w", name, err)
	}
	if !info.IsDir() {
		return f, nil, fmt.Errorf("%s is no directory of its own (%v): put the directory back", f.dir, info.Mode().Type())
	}
	keepPrivate(f.dir, info, log)
	if err := syncDir(dataDir); err != nil {
		return f, nil, fmt.Errorf("sync data directory: %w", err)
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return f, nil, fmt.Errorf("list %s: %w", name, err)
	}
	return f, entries, nil
}

// keepPrivate puts right the mode of a file or directory of the server's: what
// is in it is for nobody else, and the server must get at it. Failing is no more
// than logged: where that matters, the next step fails too.
func keepPrivate(path string, info fs.FileInfo, log *slog.Logger) {
	want := fs.FileMode(0o600)
	if info.IsDir() {
		want = 0o700
	}
	was := info.Mode().Perm()
	if runtime.GOOS == "windows" || was == want || !info.IsDir() && !info.Mode().IsRegular() {
		return
	}
	if err := os.Chmod(path, want); err != nil {
		log.Warn("mode is wrong and cannot be put right", "path", path, "mode", was, "want", want, "error", err)
		return
	}
	log.Warn("put a wrong mode right", "path", path, "was", was, "is", want)
}

// keepPrivate is the same for an entry of the directory.
func (f folder) keepPrivate(e fs.DirEntry) {
	if info, err := e.Info(); err == nil {
		keepPrivate(filepath.Join(f.dir, e.Name()), info, f.log)
	}
}

// openRegular opens a file for reading. Anything else is [errNotRegular]: it is
// not opened, so that no FIFO is waited for, no link followed and no device
// disturbed.
func openRegular(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// readRegular reads a file of at most so many bytes.
func readRegular(path string, most int64) ([]byte, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", info.Size(), most)
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// read gives the bytes of one record. See [unreadable].
func (f folder) read(name string) ([]byte, error) {
	return readRegular(filepath.Join(f.dir, name), maxRecord)
}

// unreadable tells a record that could not be read, and so may be whole, from
// one that was read and is damaged.
func unreadable(err error) bool {
	_, is := errors.AsType[*fs.PathError](err)
	return is
}

// setAside renames what cannot be used, for an operator to look at. It replaces
// nothing that was set aside before.
func (f folder) setAside(name string, why error) {
	aside := name + asideSuffix
	for i := 1; f.has(aside); i++ {
		aside = fmt.Sprintf("%s.%d%s", name, i, asideSuffix)
	}
	err := os.Rename(filepath.Join(f.dir, name), filepath.Join(f.dir, aside))
	if err != nil {
		f.log.Error("set aside a record that cannot be used", "file", name, "why", why, "error", err)
		return
	}
	f.log.Error("set aside a record that cannot be used", "file", name, "why", why, "as", aside)
}

const asideSuffix = ".corrupt"

func (f folder) has(name string) bool {
	_, err := os.Lstat(filepath.Join(f.dir, name))
	return err == nil
}

// clear removes a file that a cut-off write has left.
func (f folder) clear(e fs.DirEntry) {
	if e.IsDir() {
		return
	}
	if err := removeFile(filepath.Join(f.dir, e.Name())); err != nil {
		f.log.Warn("remove what a cut-off write has left", "file", e.Name(), "error", err)
	}
}

// strangers logs, in one line however many, what is no file of ours.
func (f folder) strangers(names []string) {
	if len(names) > 0 {
		f.log.Warn("left alone what is no file of the server's", "directory", f.dir, "files", len(names), "first", names[0])
	}
}
