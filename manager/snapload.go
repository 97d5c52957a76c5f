package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var (
	snapRecordName = regexp.MustCompile(`^snap_[0-9a-f]{16}\.json$`)
	snapTarName    = regexp.MustCompile(`^snap_[0-9a-f]{16}\.tar\.zst$`)
	snapDraftName  = regexp.MustCompile(`^\.snap_[0-9a-f]{16}\.(tar\.zst|json[0-9]+)$`)
)

// openSnapStore reads all records, and clears what an earlier server left
// half-made or half-deleted.
func openSnapStore(dataDir string, log *slog.Logger) (*snapStore, error) {
	f, entries, err := openFolder(dataDir, "snapshots", log)
	if err != nil {
		return nil, err
	}
	s := &snapStore{
		folder: f, openDraft: createDraft, writeRecord: writeDurably,
		snaps: map[schemas.SnapshotID]snapRecord{},
	}
	spoken := map[string]bool{} // IDs with a record, be it one that cannot be used
	var tars []fs.DirEntry
	var others []string
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), ".")
		switch name := e.Name(); {
		case snapRecordName.MatchString(name):
			s.keepPrivate(e)
			spoken[id] = true
			s.load(name)
		case snapTarName.MatchString(name):
			s.keepPrivate(e)
			tars = append(tars, e)
		case snapDraftName.MatchString(name):
			s.clear(e)
		case strings.HasSuffix(name, asideSuffix):
			s.keepPrivate(e)
			spoken[id] = true
		default:
			others = append(others, name)
		}
	}
	for _, e := range tars {
		if id := strings.TrimSuffix(e.Name(), tarSuffix); !spoken[id] {
			s.clear(e) // its record was never written or is already gone
		}
	}
	s.strangers(others)
	faults.Point("start.cleared")
	return s, nil
}

// load takes in one record. What cannot be used is set aside, tar and all, and
// never stops the start: it may be somebody's only copy. What cannot be read
// stays where it is, for the next start may read it.
func (s *snapStore) load(name string) {
	r, err := s.readRecord(name)
	switch {
	case err == nil:
		s.snaps[r.ID] = r
	case unreadable(err), errors.Is(err, errNewer):
		s.log.Error("left out a snapshot that cannot be read now", "file", name, "error", err)
	default:
		s.setAside(name, err)
	}
}

func (s *snapStore) readRecord(name string) (snapRecord, error) {
	data, err := s.read(name)
	if err != nil {
		return snapRecord{}, err
	}
	r, err := decodeSnapRecord(name, data)
	if err != nil {
		return r, err
	}
	_, err = os.Lstat(s.tarPath(r.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return r, errors.New("its tar is missing")
	}
	return r, err
}

func decodeSnapRecord(name string, data []byte) (r snapRecord, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	if r.Version > snapVersion {
		return r, fmt.Errorf("version is %d: %w", r.Version, errNewer)
	}
	if name != string(r.ID)+recordSuffix {
		return r, fmt.Errorf("it is the record of another snapshot")
	}
	return r, r.check()
}

// errNewer: a later release made it, and will know what to do with it.
var errNewer = errors.New("it was made by a newer release of the server")
