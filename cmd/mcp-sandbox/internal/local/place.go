package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// maxPath is what every system has room for in a socket's address: 104 bytes
	// with the NUL on macOS, 108 elsewhere.
	maxPath = 103

	socketName = "sock"
	// noteName is a file beside which the socket would be; it has its path.
	noteName = "elsewhere"
)

// home is the directory for the socket in the data directory.
func home(dataDir string) string { return filepath.Join(dataDir, "run") }

// find is where the socket of a data directory is, if there is one.
func find(dataDir string) (string, error) {
	note, err := os.ReadFile(filepath.Join(home(dataDir), noteName))
	switch {
	case err == nil:
		err := checkOurs(filepath.Dir(string(note)), home(dataDir))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return string(note), nil
		}
		return "", fmt.Errorf("find local socket: %w", err)
	case errors.Is(err, fs.ErrNotExist):
		return filepath.Join(home(dataDir), socketName), nil
	}
	return "", fmt.Errorf("find local socket: %w", err)
}

// makeHome makes the directory that only this user may look into.
func makeHome(dataDir string) error {
	dir := home(dataDir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory for local socket: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { // what the umask left, or somebody else
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
	for _, name := range []string{noteName, socketName} {
		if err := os.Remove(filepath.Join(home(dataDir), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove old local socket: %w", err)
		}
	}
	return nil
}

// elsewhere makes a private directory for a socket under a directory that others
// may use too. Its name cannot be known before.
func elsewhere(under string) (path string, err error) {
	dir, err := os.MkdirTemp(under, "mcp-sandbox-*")
	if err != nil {
		return "", fmt.Errorf("make directory for local socket: %w", err)
	}
	return filepath.Join(dir, socketName), nil
}

// writeNote says in the data directory where the socket is.
func writeNote(dataDir, path string) error {
	file := filepath.Join(home(dataDir), noteName)
	if err := os.WriteFile(file+".new", []byte(path), 0o600); err != nil {
		return fmt.Errorf("note where local socket is: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("note where local socket is: %w", err)
	}
	return nil
}
