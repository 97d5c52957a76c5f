package manager

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// draft is a snapshot whose tar is being written. Its bytes come from inside a
// sandbox, which may lie about how many there will be, so they are counted here.
type draft struct {
	store *snapStore
	id    schemas.SnapshotID
	path  string
	file  draftFile
	sum   hash.Hash
	size  int64
	limit int64
	err   error // the first of Write
}

type draftFile interface {
	io.WriteCloser
	Sync() error
}

func createDraft(path string) (draftFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// storedLimit is how large the file of a tar may become: bytes that do not
// compress take a little more room than they had.
func storedLimit(tarBytes int64) int64 { return tarBytes + tarBytes>>8 + 64<<10 }

// begin starts a draft of a tar of at most so many bytes. Who begins one
// discards it at the end.
func (s *snapStore) begin(tarBytes int64) (*draft, error) {
	id := schemas.NewSnapshotID()
	d := &draft{store: s, id: id, sum: sha256.New(), limit: storedLimit(tarBytes)}
	d.path = filepath.Join(s.dir, "."+string(id)+tarSuffix) // clear knows drafts by the dot
	var err error
	if d.file, err = s.openDraft(d.path); err != nil {
		return nil, storeError("begin snapshot", err)
	}
	faults.Point("snapshot.begun")
	return d, nil
}

func (d *draft) Write(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.size += int64(len(p)); d.size > d.limit {
		d.err = fmt.Errorf("%d bytes came, where %d are the most: %w", d.size, d.limit, errTarTooLarge)
		return 0, d.err
	}
	d.sum.Write(p)
	n, err := d.file.Write(p)
	d.err = storeError("write snapshot", err)
	faults.Point("snapshot.packing")
	return n, d.err
}

var errTarTooLarge = &Error{Kind: KindTooLarge, Message: "the snapshot is too large"}

// commit makes the draft a snapshot, all at once: when it returns nil tar and
// record survive a power cut, and else there is neither.
func (d *draft) commit(r snapRecord) (snapRecord, error) {
	faults.Point("snapshot.packed")
	r.Version, r.ID, r.CreatedAt = snapVersion, d.id, time.Now()
	r.StoredBytes, r.SHA256 = d.size, hex.EncodeToString(d.sum.Sum(nil))
	if err := d.settle(r); err != nil {
		_ = removeFile(d.store.recordPath(d.id)) // in case only its last sync failed
		_ = removeFile(d.store.tarPath(d.id))
		return r, storeError("store snapshot", err)
	}
	faults.Point("snapshot.recorded")
	d.store.add(r)
	return r, nil
}

func (d *draft) settle(r snapRecord) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := d.file.Sync(); err != nil {
		return err
	}
	if err := d.close(); err != nil {
		return err
	}
	faults.Point("snapshot.synced")
	if err := os.Rename(d.path, d.store.tarPath(d.id)); err != nil {
		return err
	}
	faults.Point("snapshot.named")
	if err := syncDir(d.store.dir); err != nil {
		return err
	}
	return d.store.writeRecord(d.store.recordPath(d.id), data)
}

func (d *draft) close() error {
	if d.file == nil {
		return nil
	}
	err := d.file.Close()
	d.file = nil
	return err
}

// discard removes what is left of the draft; after commit that is nothing.
func (d *draft) discard() {
	_ = d.close()
	if err := removeFile(d.path); err != nil {
		d.store.log.Warn("remove draft of a snapshot; the next start does", "snapshot", d.id, "error", err)
	}
}
