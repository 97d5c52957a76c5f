package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// maxPath is what every system has room for in a socket's address: 104 bytes
	// with the NUL on macOS, 108 elsewhere.
	maxPath = 103

	socketName = "sock"
	// noteName is a file beside which the socket would be; it has its path.
	noteName    = "elsewhere"
	draftSuffix = ".new" // of a note that is being written
	// strayPrefix begins the name of a directory for a socket that is elsewhere.
	strayPrefix = "mcp-sandbox-"
)

// home is the directory for the socket in the data directory.
func home(dataDir string) string { return filepath.Join(dataDir, "run") }

// find is where the socket of a data directory is, if there is one.
func find(dataDir string) (string, error) {
	path, err := readNote(dataDir)
	switch {
	case err == nil:
		err := checkOurs(filepath.Dir(path), home(dataDir))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		return "", fmt.Errorf("find local socket: %w", err)
	case errors.Is(err, fs.ErrNotExist):
		return filepath.Join(home(dataDir), socketName), nil
	}
	return "", fmt.Errorf("find local socket: %w", err)
}

// readNote is the path in the note. The server removes what is there, so it must
// be one that elsewhere can have made. Nothing but a file is opened.
func readNote(dataDir string) (string, error) {
	name := filepath.Join(home(dataDir), noteName)
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPath {
		return "", fmt.Errorf("%s is damaged", name)
	}
	note, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	path := string(note)
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || filepath.Base(path) != socketName ||
		!strings.HasPrefix(filepath.Base(filepath.Dir(path)), strayPrefix) {
		return "", fmt.Errorf("%s is damaged", name)
	}
	return path, nil
}

// makeHome makes the directory that only this user may look into.
func makeHome(dataDir string) error {
	dir := home(dataDir)
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() { // a link would be followed
		if err := os.Rename(dir, dir+".corrupt"); err != nil {
			return fmt.Errorf("set aside what is in the place of the directory for local socket: %w", err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory for local socket: %w", err)
	}
	if err := restrict(dir, 0o700); err != nil { // what the umask left, or somebody else
		return fmt.Errorf("close directory of local socket to others: %w", err)
	}
	return nil
}

// sweep removes what a server left that was killed. Nobody but the holder of the
// data directory may.
func sweep(dataDir string) error {
	if path, err := find(dataDir); err == nil && filepath.Dir(path) != home(dataDir) {
		_ = os.Remove(path)
		_ = os.Remove(filepath.Dir(path))
	}
	for _, name := range []string{noteName + draftSuffix, noteName, socketName} {
		if err := os.Remove(filepath.Join(home(dataDir), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove old local socket: %w", err)
		}
	}
	return nil
}

// elsewhere names a socket in a directory of its own under one that others may
// use too. Nobody can know the name before.
func elsewhere(under string) string {
	return filepath.Join(under, strayPrefix+rand.Text()[:16], socketName)
}

// writeNote says in the data directory where the socket is.
func writeNote(dataDir, path string) error {
	file := filepath.Join(home(dataDir), noteName)
	_ = os.Remove(file + draftSuffix) // of a server that was killed, or a link
	if err := os.WriteFile(file+draftSuffix, []byte(path), 0o600); err != nil {
		return fmt.Errorf("note where local socket is: %w", err)
	}
	if err := os.Rename(file+draftSuffix, file); err != nil {
		return fmt.Errorf("note where local socket is: %w", err)
	}
	return nil
}
