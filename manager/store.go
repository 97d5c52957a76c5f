package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// store keeps the records of sandboxes, one JSON file each.
type store struct {
	folder
	names    []string // of the records that were there when it was opened
	instance string   // that writes them
}

var (
	sandboxRecord = regexp.MustCompile(`^sb_[0-9a-f]{16}\.json$`)
	sandboxDraft  = regexp.MustCompile(`^\.sb_[0-9a-f]{16}\.json[0-9]+$`)
)

// openStore makes the directory when it is missing, and clears what a write
// that a crash cut off has left.
func openStore(dataDir string, log *slog.Logger) (*store, error) {
	f, entries, err := openFolder(dataDir, "sandboxes", log)
	if err != nil {
		return nil, err
	}
	s := &store{folder: f}
	var others []string
	for _, e := range entries {
		switch name := e.Name(); {
		case sandboxRecord.MatchString(name):
			s.keepPrivate(e)
			s.names = append(s.names, name)
		case sandboxDraft.MatchString(name):
			s.clear(e)
		case strings.HasSuffix(name, asideSuffix):
			s.keepPrivate(e)
		default:
			others = append(others, name)
		}
	}
	s.strangers(others)
	return s, nil
}

// load reads all records. One that cannot be used is set aside and never stops
// the start: what it stood for in the backend becomes an orphan. So one that
// cannot be read does stop it, for it may be whole.
func (s *store) load() ([]record, error) {
	var records []record
	for _, name := range s.names {
		r, err := s.readRecord(name)
		if unreadable(err) {
			return nil, fmt.Errorf("read record, which may be whole, so nothing was started: %w", err)
		}
		if err != nil {
			s.setAside(name, err)
			continue
		}
		records = append(records, r)
	}
	return records, nil
}

func (s *store) readRecord(name string) (record, error) {
	data, err := s.read(name)
	if err != nil {
		return record{}, err
	}
	return decodeRecord(name, data)
}

func decodeRecord(name string, data []byte) (r record, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	if name != fileName(r.ID) {
		return r, fmt.Errorf("it is the record of another sandbox")
	}
	return r, r.check()
}

// save writes a record; when it returns nil the record survives a power cut,
// and when it fails the one before is still there.
func (s *store) save(r record) error {
	r.Version, r.Instance = recordVersion, s.instance
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	if len(data) > maxRecord {
		return fmt.Errorf("record of %s has %d bytes, and more than %d could not be read again", r.ID, len(data), maxRecord)
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
	if err == nil {
		return nil
	}
	cause := fmt.Errorf("%s: %w", act, err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &Error{
			Kind: KindNoSpace, Message: "the server's data directory is full", Retryable: true, Cause: cause,
			Hint: "Delete snapshots that are no longer needed, or ask the operator for room.",
		}
	}
	if _, refused := errors.AsType[syscall.Errno](err); refused {
		return &Error{
			Kind: KindNoSpace, Message: "the server cannot write to its data directory", Retryable: true, Cause: cause,
			Hint: "Nothing was changed. Ask the operator, whom the server's log tells why.",
		}
	}
	return cause
}
