package manager

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// snapStore keeps snapshots on disk, each as two files: the compressed tar,
// <id>.tar.zst, and its record, <id>.json. The tar is written first and removed
// last, so that a record on disk always has its tar, whatever cuts us off;
// what has no record is half-made or half-deleted, never shows, and is cleared
// at the next start.
type snapStore struct {
	folder

	// How files get on disk; tests make it fail.
	openDraft   func(path string) (draftFile, error)
	writeRecord func(path string, data []byte) error

	mu    sync.Mutex // never held across I/O
	snaps map[schemas.SnapshotID]snapRecord
}

const (
	tarSuffix    = ".tar.zst"
	recordSuffix = ".json"
)

func (s *snapStore) tarPath(id schemas.SnapshotID) string {
	return filepath.Join(s.dir, string(id)+tarSuffix)
}

func (s *snapStore) recordPath(id schemas.SnapshotID) string {
	return filepath.Join(s.dir, string(id)+recordSuffix)
}

// find is the only way from a caller's ID to a snapshot; it keeps owners apart.
func (s *snapStore) find(o Owner, id schemas.SnapshotID) (snapRecord, error) {
	if _, err := schemas.ParseSnapshotID(string(id)); err != nil {
		return snapRecord{}, invalid("snapshot_id is %.64q: %v", string(id), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.snaps[id]
	if !ok || r.Owner != o {
		return snapRecord{}, noSnapshot(id)
	}
	return r, nil
}

// list is all snapshots of an owner, and of one sandbox unless that is "".
func (s *snapStore) list(o Owner, sandbox schemas.SandboxID) []snapRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []snapRecord
	for _, r := range s.snaps {
		if r.Owner == o && (sandbox == "" || r.Sandbox == sandbox) {
			own = append(own, r)
		}
	}
	return own
}

func (s *snapStore) add(r snapRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snaps[r.ID] = r
}

// take removes a snapshot from the list; exactly one of several callers gets it.
func (s *snapStore) take(id schemas.SnapshotID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.snaps[id]
	delete(s.snaps, id)
	return ok
}

// remove deletes a snapshot. Who has its tar open goes on reading it.
func (s *snapStore) remove(r snapRecord) error {
	if !s.take(r.ID) {
		return noSnapshot(r.ID)
	}
	err := removeFile(s.recordPath(r.ID))
	if err == nil {
		faults.Point("snapshot.unrecorded")
		err = syncDir(s.dir)
	}
	if err != nil {
		s.add(r)
		return storeError("remove snapshot", err)
	}
	if err := removeFile(s.tarPath(r.ID)); err != nil {
		s.log.Warn("remove tar of a deleted snapshot; the next start does", "snapshot", r.ID, "error", err)
	}
	faults.Point("snapshot.deleted")
	return nil
}

// removeFile is os.Remove, but idempotent.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
