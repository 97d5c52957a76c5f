package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// store keeps the records of sandboxes, one JSON file each.
type store struct {
	dir string
	log *slog.Logger
}

// openStore makes the directory when it is missing, and clears what a write
// that a crash cut off has left.
func openStore(dataDir string, log *slog.Logger) (*store, error) {
	s := &store{dir: filepath.Join(dataDir, "sandboxes"), log: log}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make records directory: %w", err)
	}
	if err := syncDir(dataDir); err != nil {
		return nil, fmt.Errorf("sync data directory: %w", err)
	}
	strays, _ := filepath.Glob(filepath.Join(s.dir, ".*"))
	for _, stray := range strays {
		if info, err := os.Lstat(stray); err == nil && info.IsDir() {
			continue // not ours: some filesystems keep their snapshots in one
		}
		if err := os.Remove(stray); err != nil {
			return nil, fmt.Errorf("remove stray temporary file: %w", err)
		}
	}
	return s, nil
}

// load reads all records. One that cannot be used is set aside and never stops
// the start: what it stood for in the backend becomes an orphan. So one that
// cannot be read does stop it, for it may be whole.
func (s *store) load() ([]record, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	var records []record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		name := filepath.Join(s.dir, e.Name())
		r, err := readRecord(name)
		if _, failed := errors.AsType[*fs.PathError](err); failed {
			return nil, fmt.Errorf("read record: %w", err)
		}
		if err != nil {
			s.setAside(name, err)
			continue
		}
		records = append(records, r)
	}
	return records, nil
}

func readRecord(name string) (r record, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() { // a FIFO would be waited for
		return r, errors.New("it is not a regular file")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	if filepath.Base(name) != fileName(r.ID) {
		return r, fmt.Errorf("it is the record of another sandbox")
	}
	return r, r.check()
}

func (s *store) setAside(name string, why error) {
	s.log.Error("set aside a record that cannot be used", "file", filepath.Base(name), "error", why)
	if err := os.Rename(name, name+".corrupt"); err != nil {
		s.log.Error("set aside record", "file", filepath.Base(name), "error", err)
	}
}

// save writes a record; when it returns nil the record survives a power cut,
// and when it fails the one before is still there.
func (s *store) save(r record) error {
	r.Version = recordVersion
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	return storeError("write record", writeDurably(s.path(r.ID), data))
}

// remove deletes a record; it is idempotent.
func (s *store) remove(id schemas.SandboxID) error {
	if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storeError("remove record", err)
	}
	return storeError("remove record", syncDir(s.dir))
}

func (s *store) path(id schemas.SandboxID) string { return filepath.Join(s.dir, fileName(id)) }

func fileName(id schemas.SandboxID) string { return string(id) + ".json" }

// storeError gives a failure in the data directory its kind. The cause names
// paths of the host, so it is for the log only.
func storeError(act string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &Error{
			Kind: KindNoSpace, Message: "the server's data directory is full", Retryable: true,
			Hint:  "Delete snapshots that are no longer needed, or ask the operator for room.",
			Cause: fmt.Errorf("%s: %w", act, err),
		}
	default:
		return fmt.Errorf("%s: %w", act, err)
	}
}
