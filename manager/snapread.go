package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// snapReader reads the tar of a snapshot once, and tells at the end whether it
// was what was stored. Until then nothing must rely on what came out of it.
type snapReader struct {
	snap snapRecord

	// A guest may still be in a Read when its call has returned; the lock keeps
	// that Read out of the rest.
	mu     sync.Mutex
	file   *os.File
	sum    hash.Hash
	size   int64
	err    error // of the file
	closed bool
}

// usable finds a snapshot and checks, cheaply, that its tar may be whole: before
// anything is made for it.
func (s *snapStore) usable(o Owner, id schemas.SnapshotID) (snapRecord, error) {
	r, err := s.find(o, id)
	if err != nil {
		return r, err
	}
	reader, err := s.open(r)
	if err != nil {
		return r, err
	}
	reader.close()
	return r, nil
}

// open opens the tar of a snapshot; deleting the snapshot does not disturb it.
func (s *snapStore) open(r snapRecord) (*snapReader, error) {
	file, err := openRegular(s.tarPath(r.ID))
	if err != nil {
		return nil, s.notOpened(r, err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() != r.StoredBytes {
		err = damaged(r.ID, "its file has another size than what was stored", nil)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &snapReader{snap: r, file: file, sum: sha256.New()}, nil
}

// notOpened explains why the tar of a snapshot could not be opened.
func (s *snapStore) notOpened(r snapRecord, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := s.find(r.Owner, r.ID); err != nil {
			return err // deleted since it was found
		}
		return damaged(r.ID, "its file is missing", err)
	case errors.Is(err, errNotRegular):
		return damaged(r.ID, "something else is in the place of its file", err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("open snapshot: %w", err)
	}
	return damaged(r.ID, "its file cannot be read", err)
}

func (r *snapReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, fs.ErrClosed
	}
	n, err := r.file.Read(p)
	r.sum.Write(p[:n])
	r.size += int64(n)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

func (r *snapReader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.file.Close()
}

// verify reads what is left and compares the whole with the record.
func (r *snapReader) verify() error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return damaged(r.snap.ID, "its file cannot be read", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size != r.snap.StoredBytes || hex.EncodeToString(r.sum.Sum(nil)) != r.snap.SHA256 {
		return damaged(r.snap.ID, "its checksum is not that of what was stored", nil)
	}
	return nil
}

// verdict is what to make of an unpacking that ended with err. A damaged file is
// the reason, whatever its bytes led to inside the sandbox.
func (r *snapReader) verdict(err error) error {
	r.mu.Lock()
	broken := r.err != nil
	r.mu.Unlock()
	refused := isKind(err, KindInvalid)
	if err != nil && !refused && !broken {
		return err
	}
	if err := r.verify(); err != nil {
		return err
	}
	if refused {
		return damaged(r.snap.ID, "it holds what may not be unpacked", err)
	}
	return err
}

// unpacked fills an empty workspace from a snapshot. An error means that the
// workspace must not be used.
func (m *Manager) unpacked(snap snapRecord) func(context.Context, Guest) error {
	return func(ctx context.Context, g Guest) error {
		r, err := m.snaps.open(snap)
		if err != nil {
			return err
		}
		defer r.close()
		faults.Point("snapshot.unpacking")
		_, err = g.Unpack(ctx, UnpackOptions{
			Path: Workspace, Zstd: true, Replace: true,
			// A snapshot from times of a larger limit can still be used.
			MaxBytes: max(snap.SizeBytes, m.cfg.MaxSnapshotBytes), MaxFiles: max(snap.Files, maxArchiveFiles),
		}, r)
		return r.verdict(err)
	}
}
