package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Listen opens the local socket of a data directory, in place of one that a
// killed server left. Only the holder of the directory's lock may call it, and
// must close the listener before it lets go of the lock: closing removes the
// socket, which later would be the next holder's.
func Listen(dataDir string) (net.Listener, error) {
	if err := makeHome(dataDir); err != nil {
		return nil, err
	}
	if err := sweep(dataDir); err != nil {
		return nil, err
	}
	l, err := listenAt(filepath.Join(home(dataDir), socketName))
	if err == nil {
		return l, nil
	}
	all := []error{err}
	for _, under := range slices.Compact([]string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()}) {
		if !filepath.IsAbs(under) {
			continue
		}
		l, err := listenUnder(under, dataDir)
		if err == nil {
			return l, nil
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

// listenUnder notes where the socket will be before it makes anything there, so
// that the next server finds what this one leaves when it is killed.
func listenUnder(under, dataDir string) (net.Listener, error) {
	path := elsewhere(under)
	if err := checkLength(path); err != nil {
		return nil, err
	}
	if err := writeNote(dataDir, path); err != nil {
		return nil, err
	}
	var l net.Listener
	err := os.Mkdir(filepath.Dir(path), 0o700)
	if err == nil {
		l, err = listenAt(path)
	}
	if err != nil {
		return nil, errors.Join(err, sweep(dataDir))
	}
	return &strayListener{l, sync.OnceValue(func() error { return errors.Join(l.Close(), sweep(dataDir)) })}, nil
}

func checkLength(path string) error {
	if len(path) > maxPath {
		return fmt.Errorf("listen on local socket: the path %s has more than %d bytes", path, maxPath)
	}
	return nil
}

func listenAt(path string) (net.Listener, error) {
	if err := checkLength(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on local socket: %w", err)
	}
	// Its directory keeps others out already.
	if err := restrict(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("close local socket to others: %w", err)
	}
	return l, nil
}

// strayListener takes its directory and the note of it away when it is closed.
type strayListener struct {
	net.Listener
	close func() error
}

func (l *strayListener) Close() error { return l.close() }
