package client

import (
	"context"
	"fmt"
	"io"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Pack writes a tar of a directory to w. The tar is whole only if the error is
// nil. An error of w ends the packing, and is returned.
func (c *Client) Pack(ctx context.Context, params protocol.PackParams, w io.Writer) (stats protocol.ArchiveStats, err error) {
	r, err := c.start(ctx, protocol.PathPack, params, nil)
	if err != nil {
		return stats, err
	}
	defer r.close()
	if err := r.copyTo(w); err != nil {
		return stats, err
	}
	if err := r.finish(); err != nil {
		return stats, err
	}
	return packStats(r.http.Trailer.Get(protocol.StatsTrailer))
}

func packStats(text string) (stats protocol.ArchiveStats, err error) {
	if text == "" {
		return stats, fmt.Errorf("%w: tar ends without its totals", ErrLost)
	}
	err = decode([]byte(text), &stats)
	return stats, err
}

// copyTo copies the response's body and keeps w's errors apart from the channel's.
func (r *response) copyTo(w io.Writer) error {
	buf := make([]byte, maxFrame)
	for {
		n, err := r.http.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return fmt.Errorf("write tar: %w", err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return r.fail(err)
		}
	}
}

// Unpack extracts the tar that tar holds. A tar that cannot be read to its end
// fails the call, with part of it extracted.
func (c *Client) Unpack(ctx context.Context, params protocol.UnpackParams, tar io.Reader) (stats protocol.ArchiveStats, err error) {
	err = c.upload(ctx, protocol.PathUnpack, params, tar, &stats)
	return stats, err
}
