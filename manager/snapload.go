package manager

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// openSnapStore reads all records, and clears what an earlier server left
// half-made or half-deleted.
func openSnapStore(dataDir string, log *slog.Logger) (*snapStore, error) {
	s := &snapStore{
		dir: filepath.Join(dataDir, "snapshots"), log: log,
		openDraft: createDraft, writeRecord: writeDurably,
		snaps: map[schemas.SnapshotID]snapRecord{},
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make snapshots directory: %w", err)
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), recordSuffix) && !strings.HasPrefix(e.Name(), ".") {
			s.load(e.Name())
		}
	}
	for _, e := range entries {
		s.clear(e.Name())
	}
	return s, nil
}

// load takes in one record. What cannot be used is set aside, tar and all, and
// never stops the start: it may be somebody's only copy.
func (s *snapStore) load(name string) {
	r, err := s.read(name)
	if err == nil {
		s.snaps[r.ID] = r
		return
	}
	s.log.Error("set aside a snapshot that cannot be used", "file", name, "error", err)
	path := filepath.Join(s.dir, name)
	if err := os.Rename(path, path+asideSuffix); err != nil {
		s.log.Error("set aside snapshot", "file", name, "error", err)
	}
}

func (s *snapStore) read(name string) (r snapRecord, err error) {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	if name != string(r.ID)+recordSuffix {
		return r, fmt.Errorf("it is the record of another snapshot")
	}
	if err := r.check(); err != nil {
		return r, err
	}
	_, err = os.Stat(s.tarPath(r.ID))
	return r, err
}

// clear removes a file that no record stands for: a draft, or a tar whose
// record was never written or is already gone.
func (s *snapStore) clear(name string) {
	id, isTar := strings.CutSuffix(name, tarSuffix)
	if !strings.HasPrefix(name, ".") && (!isTar || s.spoken(id)) {
		return
	}
	s.log.Info("remove half-made snapshot", "file", name)
	if err := removeFile(filepath.Join(s.dir, name)); err != nil {
		s.log.Warn("remove half-made snapshot", "file", name, "error", err)
	}
}

// spoken tells whether a tar has a record, be it one that cannot be used.
func (s *snapStore) spoken(id string) bool {
	for _, path := range []string{s.recordPath(schemas.SnapshotID(id)), s.recordPath(schemas.SnapshotID(id)) + asideSuffix} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}
