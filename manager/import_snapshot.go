package manager

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ImportSnapshot keeps a plain tar as a snapshot that came from no sandbox. It is
// checked and compressed as it comes; nothing is extracted. Sandboxes that are
// forked from it get image, or the default, and all else as [Manager.Create]
// would. Either all of it is kept, durably, or nothing.
func (m *Manager) ImportSnapshot(ctx context.Context, o Owner, name, image string, r io.Reader) (_ schemas.Snapshot, err error) {
	defer m.observe("snapshot_import", time.Now(), &err)
	ctx, done, err := m.untilClose(ctx)
	if err != nil {
		return schemas.Snapshot{}, err
	}
	defer done()
	if err := checkName(name); err != nil {
		return schemas.Snapshot{}, err
	}
	if image, err = m.chooseImage(ctx, image); err != nil {
		return schemas.Snapshot{}, m.explain(err)
	}
	spec, err := m.shape(m.defaultSpec(image), overrides{})
	if err != nil {
		return schemas.Snapshot{}, err
	}
	snap, err := m.takeIn(ctx, r, snapRecord{Owner: o, Name: name, Spec: spec})
	if err != nil {
		return schemas.Snapshot{}, err
	}
	m.log.Info("imported snapshot", "snapshot", snap.ID, "bytes", snap.SizeBytes, "stored", snap.StoredBytes)
	return snap.view(), nil
}

// takeIn streams a tar into a draft and commits that.
func (m *Manager) takeIn(ctx context.Context, r io.Reader, snap snapRecord) (snapRecord, error) {
	d, err := m.snaps.begin(m.cfg.MaxSnapshotBytes)
	if err != nil {
		return snap, err
	}
	defer d.discard()
	stats, err := m.deflate(d, contextReader{ctx, r})
	if d.err != nil {
		err = d.err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return snap, err
	}
	snap.SizeBytes, snap.Files = stats.Bytes, stats.Files
	return d.commit(snap)
}

// deflate compresses a tar, as a guest would have, while it is checked.
func (m *Manager) deflate(w io.Writer, r io.Reader) (ArchiveStats, error) {
	enc, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(MaxWindow))
	if err != nil {
		return ArchiveStats{}, fmt.Errorf("begin compression: %w", err)
	}
	stats, err := checkTar(io.TeeReader(r, enc), m.cfg.MaxSnapshotBytes, maxArchiveFiles)
	if closeErr := enc.Close(); err == nil {
		err = closeErr
	}
	return stats, err
}
