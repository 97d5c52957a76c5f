//go:build linux

package archive

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// jail is a directory to extract into, beside things that must stay as they are.
func jail(t testing.TB) (dir string, check func()) {
	t.Helper()
	base := tempDir(t)
	write(t, base+"/canary", "canary")
	write(t, base+"/out/secret", "secret")
	dir = base + "/in"
	must(t, os.Mkdir(dir, 0o755))
	outside := func() []string {
		lines := describe(t, base)
		return slices.DeleteFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, `"./in`) || strings.HasPrefix(l, `"."`)
		})
	}
	before := outside()
	return dir, func() {
		t.Helper()
		if after := outside(); !slices.Equal(before, after) {
			t.Errorf("outside changed:\n%q\n%q", before, after)
		}
		var st unix.Stat_t
		must(t, unix.Stat(base+"/canary", &st))
		if st.Nlink != 1 {
			t.Error("the canary has another name now")
		}
	}
}

func file(name string, size int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size}
}

func symlink(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}

func hardlink(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}
}

func folder(name string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}
}

func TestG17HostileTars(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"dotdot":              {file("../canary", 3)},
		"dotdot inside":       {file("a/../../canary", 3)},
		"dotdot that returns": {file("a/../b", 3)},
		"absolute":            {file("/tmp/x", 3)},
		"absolute link":       {hardlink("x", "/etc/passwd")},
		"through a link":      {symlink("l", ".."), file("l/canary", 3)},
		"through links":       {symlink("l", "../out"), symlink("m", "l"), file("m/secret", 3)},
		"directory by a link": {symlink("l", "../out"), folder("l/d", 0o755)},
		"link out":            {hardlink("x", "../canary")},
		"link through a link": {symlink("l", ".."), hardlink("x", "l/canary")},
		"link to a directory": {folder("d", 0o755), hardlink("x", "d")},
		"link to nothing":     {hardlink("x", "no")},
		"link to itself":      {file("x", 3), hardlink("./x", "x")},
		"link to the root":    {hardlink("x", ".")},
		"file as directory":   {file("f", 3), file("f/x", 3)},
		"character device":    {{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}},
		"block device":        {{Typeflag: tar.TypeBlock, Name: "sda", Devmajor: 8}},
		"root as a file":      {file(".", 3)},
		"root as a link":      {symlink("./", "../out")},
		"too deep":            {file(strings.Repeat("d/", maxDepth+1)+"f", 1)},
		"name too long":       {file(strings.Repeat("n", 256), 1)},
		"link text too long":  {symlink("l", strings.Repeat("l", 4096))},
	} {
		t.Run(name, func(t *testing.T) {
			for _, replace := range []bool{false, true} {
				dir, check := jail(t)
				_, err := unpack(t, dir, tarOf(t, headers...), UnpackOptions{Replace: replace, MaxBytes: -1, MaxFiles: -1})
				wantCode(t, err, protocol.ErrBadArchive)
				check()
			}
		})
	}
}

// What is odd but harmless is extracted, inside.
func TestG17ConfinedTars(t *testing.T) {
	for name, c := range map[string]struct {
		headers []tar.Header
		want    []string
	}{
		"duplicates":           {[]tar.Header{file("f", 3), file("f", 1)}, []string{"f"}},
		"link then file":       {[]tar.Header{symlink("l", "../canary"), file("l", 3)}, []string{"l"}},
		"link then directory":  {[]tar.Header{symlink("l", "../out"), folder("l", 0o755), file("l/secret", 3)}, []string{"l", "l/secret"}},
		"directory then file":  {[]tar.Header{folder("d", 0), file("d", 3)}, []string{"d"}},
		"file then directory":  {[]tar.Header{file("d", 3), folder("d", 0o755), file("d/f", 1)}, []string{"d", "d/f"}},
		"link of a link":       {[]tar.Header{symlink("l", "../canary"), hardlink("m", "l")}, []string{"l", "m"}},
		"linked, then changed": {[]tar.Header{symlink("l", "../canary"), hardlink("m", "l"), file("m", 3)}, []string{"l", "m"}},
		"names to clean":       {[]tar.Header{file("./a//./b", 3), folder("a/./c//", 0o755)}, []string{"a", "a/b", "a/c"}},
		"closed, then filled":  {[]tar.Header{folder("d", 0o555), file("d/f", 1), folder("d/e", 0), file("d/e/f", 1)}, []string{"d", "d/e", "d/e/f", "d/f"}},
		"comment":              {[]tar.Header{{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "abc"}}, file("f", 1)}, []string{"f"}},
		"nothing":              {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir, check := jail(t)
			_, err := unpack(t, dir, tarOf(t, c.headers...), unbounded)
			must(t, err)
			check()
			var got []string
			must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				if rel, _ := filepath.Rel(dir, path); rel != "." {
					got = append(got, rel)
				}
				return err
			}))
			if !slices.Equal(got, c.want) {
				t.Errorf("has %q, want %q", got, c.want)
			}
		})
	}
}

func TestUploadMerges(t *testing.T) {
	dir, check := jail(t)
	write(t, dir+"/keep/f", "old")
	write(t, dir+"/file", "old")
	must(t, os.Symlink("../canary", dir+"/link"))
	must(t, os.Symlink("../out", dir+"/dirlink"))
	_, err := unpack(t, dir, tarOf(t, folder("keep", 0o700), file("keep/g", 1), file("file", 2), file("link", 3)), unbounded)
	must(t, err)
	check()
	for path, want := range map[string]string{"keep/f": "old", "keep/g": "x", "file": "xx", "link": "xxx"} {
		got, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", path, got, err)
		}
	}
	_, err = unpack(t, dir, tarOf(t, file("dirlink/secret", 3)), unbounded)
	wantCode(t, err, protocol.ErrBadArchive)
	_, err = unpack(t, dir, tarOf(t, file("keep", 3)), unbounded)
	wantCode(t, err, protocol.ErrExists)
	check()
}

func TestG16Bounds(t *testing.T) {
	dir, check := jail(t)
	zeros := tarOf(t, file("bomb", 16<<20))
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

// FuzzUnpack extracts anything: nothing outside changes, every error has a type,
// and what came out can be packed.
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
		_, err := unpack(t, dir, data, UnpackOptions{Replace: replace, MaxBytes: 1 << 20, MaxFiles: 100})
		if err != nil {
			wantCode(t, err, protocol.ErrBadArchive, protocol.ErrTooLarge, protocol.ErrExists, protocol.ErrNoSpace)
		}
		check()
		_, _, err = pack(t, dir, PackOptions{MaxBytes: -1})
		must(t, err)
	})
}
