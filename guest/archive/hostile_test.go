//go:build linux

package archive

import (
	"archive/tar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
