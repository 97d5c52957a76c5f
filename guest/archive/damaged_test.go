//go:build linux

package archive

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func TestDamagedTars(t *testing.T) {
	whole := tarOf(t, file("a", 100), folder("d", 0o755), file("d/zeros", 2000))
	for name, data := range map[string][]byte{
		"empty":              {},
		"no tar":             []byte(strings.Repeat("no tar ", 200)),
		"lying size":         rawTar(rawHeader("f", '0', 5000), pad("x")),
		"huge size":          rawTar(rawHeader("f", '0', 1<<62), pad("x")),
		"negative size":      rawTar(rawHeader("f", '0', -1), pad("x")),
		"unknown type":       rawTar(rawHeader("f", 'V', 0)),
		"no name":            rawTar(rawHeader("", '0', 0)),
		"more after the end": append(slices.Clone(whole), whole...),
		"junk after the end": append(slices.Clone(whole), "junk"...),
	} {
		dir, check := jail(t)
		_, err := unpack(t, dir, data, UnpackOptions{MaxBytes: -1, MaxFiles: -1})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantCode(t, err, protocol.ErrBadArchive)
		check()
	}
}

func TestCutTars(t *testing.T) {
	dir, check := jail(t)
	src := tempDir(t)
	write(t, src+"/a/zeros", strings.Repeat("\x00", 4096))
	write(t, src+"/b", "b")
	write(t, src+"/zeros", strings.Repeat("\x00", 2048))
	for _, zipped := range []bool{false, true} {
		data, _, err := pack(t, src, PackOptions{Zstd: zipped, MaxBytes: -1})
		must(t, err)
		step := 1
		if !zipped {
			step = 64
			data = data[:len(data)-block] // one zero block is enough of an end
		}
		for n := 0; n < len(data)-step; n += step {
			_, err := unpack(t, dir, data[:n], UnpackOptions{Zstd: zipped, Replace: true, MaxBytes: -1, MaxFiles: -1})
			if err == nil {
				t.Errorf("zstd %v: cut at %d of %d is taken for whole", zipped, n, len(data))
			}
		}
		_, err = unpack(t, dir, data, UnpackOptions{Zstd: zipped, MaxBytes: -1, MaxFiles: -1})
		must(t, err)
	}
	check()
}

func TestZstdStreams(t *testing.T) {
	dir, check := jail(t)
	data := tarOf(t, file("a", 1000), file("b", 2000))
	zipped := func(p []byte, o ...zstd.EOption) []byte {
		enc, err := zstd.NewWriter(nil, o...)
		must(t, err)
		return enc.EncodeAll(p, nil)
	}
	// Several members are one stream: there is no second tar that only some see.
	_, err := unpack(t, dir, slices.Concat(zipped(data[:700]), zipped(data[700:])), UnpackOptions{Zstd: true, MaxBytes: -1, MaxFiles: -1})
	must(t, err)
	for name, bad := range map[string][]byte{
		"second tar": slices.Concat(zipped(data), zipped(data)),
		"junk":       append(zipped(data), "junk"...),
		"not zstd":   data,
		"flipped":    flipped(zipped(data)),
	} {
		_, err := unpack(t, dir, bad, UnpackOptions{Zstd: true, MaxBytes: -1, MaxFiles: -1})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantCode(t, err, protocol.ErrBadArchive)
	}
	// A window that would take more memory than a sandbox has.
	var wide bytes.Buffer
	enc, err := zstd.NewWriter(&wide, zstd.WithWindowSize(64<<20))
	must(t, err)
	_, err = io.Copy(enc, bytes.NewReader(tarOf(t, file("big", 3<<20))))
	must(t, err)
	must(t, enc.Close())
	_, err = unpack(t, dir, wide.Bytes(), UnpackOptions{Zstd: true, MaxBytes: -1, MaxFiles: -1})
	wantCode(t, err, protocol.ErrBadArchive)
	check()
}

func flipped(p []byte) []byte {
	p[len(p)-1] ^= 1 // in the checksum
	return p
}

// rawTar puts blocks together and ends them.
func rawTar(parts ...string) []byte {
	return []byte(strings.Join(parts, "") + strings.Repeat("\x00", 2*block))
}

func pad(s string) string { return s + strings.Repeat("\x00", int(roundUp(int64(len(s))))-len(s)) }

// rawHeader makes a header that need not be true.
func rawHeader(name string, kind byte, size int64) string {
	b := make([]byte, block)
	copy(b, name)
	copy(b[100:], "0000644\x000000000\x000000000\x00")
	b[124] = 0x80 // size in base 256
	if size < 0 {
		for i := 124; i < 128; i++ {
			b[i] = 0xff
		}
	}
	binary.BigEndian.PutUint64(b[128:], uint64(size))
	copy(b[136:], "00000000000\x00        ")
	b[156] = kind
	copy(b[257:], "ustar\x0000")
	sum := int64(0)
	for _, c := range b {
		sum += int64(c)
	}
	for i := range 6 {
		b[148+i] = byte('0' + sum>>(3*(5-i))&7)
	}
	b[154] = 0
	return string(b)
}
