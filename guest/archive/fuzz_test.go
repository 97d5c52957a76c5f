//go:build linux

package archive

import (
	"archive/tar"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// mended gives every header in data the checksum that it should have, so that
// a change of a bit is looked at and not just refused.
func mended(data []byte) []byte {
	data = slices.Clone(data)
	for b := range slices.Chunk(data, block) {
		if len(b) < block || string(b[257:262]) != "ustar" {
			continue
		}
		sum := int64(8 * ' ')
		for i, c := range b {
			if i < 148 || i >= 156 {
				sum += int64(c)
			}
		}
		copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	}
	return data
}

// FuzzUnpack extracts anything: nothing outside changes, every error has a type,
// and what came out can be packed. (Run it with -fuzzminimizetime 1x: to make
// tars smaller is slow and of no use.)
func FuzzUnpack(f *testing.F) {
	f.Add(tarOf(f, folder("d", 0o555), file("d/f", 10), symlink("l", "../out"), hardlink("h", "d/f")), false)
	f.Add(tarOf(f, symlink("l", ".."), file("l/canary", 3)), true)
	f.Add(tarOf(f, file("../canary", 3), file("/etc/x", 3)), false)
	f.Add(tarOf(f, folder("./", 0o700), tar.Header{Typeflag: tar.TypeFifo, Name: "p"}, file(strings.Repeat("n", 200), 600)), true)
	f.Add(rawTar(rawHeader("././@LongLink", 'L', 10), pad("../canary\x00"), rawHeader("f", '0', 1), pad("x")), false)
	f.Add(rawTar(rawHeader("x", 'x', int64(len(sparseRecords))), pad(sparseRecords), rawHeader("f", '0', block), pad("1\n9\n0\n")), false)
	f.Fuzz(func(t *testing.T, data []byte, replace bool) {
		dir, check := jail(t)
		write(t, dir+"/old/f", "old")
		must(t, os.Symlink("../out", dir+"/old/l"))
		_, err := unpack(t, dir, mended(data), UnpackOptions{Replace: replace, MaxBytes: 1 << 20, MaxFiles: 100})
		if err != nil {
			wantCode(t, err, protocol.ErrBadArchive, protocol.ErrTooLarge, protocol.ErrExists, protocol.ErrNoSpace)
		}
		check()
		_, _, err = pack(t, dir, PackOptions{MaxBytes: -1})
		must(t, err)
	})
}
