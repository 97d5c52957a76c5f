//go:build linux

package archive

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func TestG16Bounds(t *testing.T) {
	dir, check := jail(t)
	zeros := tarOf(t, file("bomb", 4<<20))
	var small bytes.Buffer
	enc, err := zstd.NewWriter(&small, zstd.WithWindowSize(MaxWindow))
	must(t, err)
	_, err = enc.Write(zeros)
	must(t, err)
	must(t, enc.Close())
	_, err = unpack(t, dir, small.Bytes(), UnpackOptions{Zstd: true, MaxBytes: 1 << 20, MaxFiles: 10})
	wantCode(t, err, protocol.ErrTooLarge)

	var many []tar.Header
	for i := range 100 {
		many = append(many, folder(strings.Repeat("d", i+1), 0o755))
	}
	stats, err := unpack(t, dir, tarOf(t, many...), UnpackOptions{MaxBytes: -1, MaxFiles: 99})
	wantCode(t, err, protocol.ErrTooLarge)
	if stats.Files != 99 {
		t.Errorf("%d entries", stats.Files)
	}
	_, err = unpack(t, dir, tarOf(t, file(strings.Repeat("p/", 50)+"f", 0)), UnpackOptions{MaxBytes: -1, MaxFiles: 49})
	wantCode(t, err, protocol.ErrTooLarge)
	_, err = unpack(t, dir, zeros, UnpackOptions{MaxBytes: int64(len(zeros)) - 1, MaxFiles: -1})
	wantCode(t, err, protocol.ErrTooLarge)
	check()
}

// A sparse file may be far larger than the tar that it comes in.
func TestG16SparseBomb(t *testing.T) {
	dir, check := jail(t)
	body := "1\n1000000000000\n0\n"
	data := rawTar(
		rawHeader("x", 'x', int64(len(sparseRecords))), pad(sparseRecords),
		rawHeader("GNUSparseFile.0/bomb", '0', block), pad(body))
	_, err := unpack(t, dir, data, UnpackOptions{MaxBytes: 1 << 20, MaxFiles: 10})
	wantCode(t, err, protocol.ErrTooLarge)
	check()
}

const sparseRecords = "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n24 GNU.sparse.name=bomb\n37 GNU.sparse.realsize=1000000000000\n"
