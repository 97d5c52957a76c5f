package manager

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ExportSnapshot writes a snapshot to w as a plain tar. Its checksum is compared
// before the first byte is written and again while they are, so an error that
// comes after the first is rare; what was written then is of no use.
func (m *Manager) ExportSnapshot(ctx context.Context, o Owner, id schemas.SnapshotID, w io.Writer) (err error) {
	defer m.observe("snapshot_export", time.Now(), &err)
	ctx, done, err := m.untilClose(ctx)
	if err != nil {
		return err
	}
	defer done()
	snap, err := m.snaps.find(o, id)
	if err != nil {
		return err
	}
	if err := m.readSnapshot(ctx, snap, func(io.Reader) error { return nil }); err != nil {
		return err
	}
	return m.readSnapshot(ctx, snap, func(r io.Reader) error { return m.inflate(ctx, w, r, snap) })
}

// readSnapshot gives the stored bytes to use, and then compares the checksum of
// all of them.
func (m *Manager) readSnapshot(ctx context.Context, snap snapRecord, use func(io.Reader) error) error {
	r, err := m.snaps.open(snap)
	if err != nil {
		return err
	}
	defer r.close()
	in := contextReader{ctx, r}
	if err := use(in); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); ctx.Err() != nil {
		return err
	}
	return r.verify()
}

// inflate decompresses a snapshot. Its bytes came from inside a sandbox, so
// neither the memory it takes nor its length is left to them.
func (m *Manager) inflate(ctx context.Context, w io.Writer, r io.Reader, snap snapRecord) error {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(MaxWindow))
	if err != nil {
		return fmt.Errorf("begin decompression: %w", err)
	}
	defer dec.Close()
	most := max(snap.SizeBytes, m.cfg.MaxSnapshotBytes)
	buf := make([]byte, 64<<10)
	for {
		n, err := dec.Read(buf)
		if most -= int64(n); most < 0 {
			return damaged(snap.ID, "it holds more than a snapshot may", nil)
		}
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return fmt.Errorf("write tar: %w", err)
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil && context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil:
			return damaged(snap.ID, "it cannot be decompressed", err)
		}
	}
}

// contextReader fails once its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
