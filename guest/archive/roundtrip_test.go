//go:build linux

package archive

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"pgregory.net/rapid"
)

func write(t fataler, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func TestG1Links(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/a", "shared")
	must(t, os.MkdirAll(dir+"/d/.venv/bin", 0o755))
	must(t, os.Link(dir+"/a", dir+"/d/b"))
	must(t, os.Link(dir+"/a", dir+"/z"))
	for name, text := range map[string]string{
		"rel": "a", "abs": "/workspace/a", "dangling": "no/such", "loop": "loop", "slash": "d/", "bytes": "\xff\xfe é",
		"d/.venv/bin/python": "/usr/bin/python3", "long": strings.Repeat("l/", 2000), "up": "../../..",
	} {
		must(t, os.Symlink(text, filepath.Join(dir, name)))
	}
	must(t, unix.Linkat(unix.AT_FDCWD, dir+"/rel", unix.AT_FDCWD, dir+"/rel2", 0))
	roundTrip(t, dir, tempDir(t))
}

func TestG3ReplaceLeavesNothing(t *testing.T) {
	dir, to := tempDir(t), tempDir(t)
	write(t, dir+"/file", "1")
	write(t, dir+"/dir/x", "2")
	write(t, dir+"/changed", "3")
	must(t, os.Mkdir(dir+"/empty", 0o700))
	roundTrip(t, dir, to)
	must(t, os.Remove(to+"/file"))
	write(t, to+"/file/now-a-dir", "x")
	must(t, os.RemoveAll(to+"/dir"))
	write(t, to+"/dir", "now a file")
	write(t, to+"/.hidden/new", "x")
	must(t, os.Rename(to+"/changed", to+"/renamed"))
	roundTrip(t, dir, to)
}

func TestG6Modes(t *testing.T) {
	dir, to := tempDir(t), tempDir(t)
	for i, mode := range []uint32{0o700, 0o770, 0o1777, 0o2755, 0o600, 0o755, 0o4755, 0o555, 0, 0o111, 0o222} {
		d, f := fmt.Sprintf("%s/d%d", dir, i), fmt.Sprintf("%s/f%d", dir, i)
		write(t, d+"/x", "x")
		must(t, unix.Chmod(d, mode&^0o6000))
		write(t, f, "x")
		must(t, unix.Chmod(f, mode&^0o6000))
	}
	must(t, unix.Chmod(dir, 0o1750))
	roundTrip(t, dir, to)

	// setuid and setgid are dropped, the rest of the mode stays.
	must(t, unix.Chmod(dir+"/f0", 0o6755))
	must(t, unix.Chmod(dir+"/d0", 0o3755))
	_, err := unpack(t, to, mustPack(t, dir), UnpackOptions{Replace: true, MaxBytes: -1, MaxFiles: -1})
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Stat(to+"/f0", &st))
	if st.Mode&0o7777 != 0o755 {
		t.Errorf("file has mode %o", st.Mode)
	}
	must(t, unix.Stat(to+"/d0", &st))
	if st.Mode&0o7777 != 0o1755 {
		t.Errorf("directory has mode %o", st.Mode)
	}
}

func TestG7Times(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/d/e/f", "x")
	must(t, os.Symlink("f", dir+"/d/l"))
	must(t, unix.Mkfifo(dir+"/d/p", 0o640))
	for i, when := range []time.Time{time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC), time.Unix(-1, 999999999), time.Unix(-1000000, 0),
		time.Unix(-86400*365*50, 123456789), time.Unix(0, 0), time.Unix(1<<33, 1)} {
		for _, name := range []string{"d/e/f", "d/l", "d/p", "d/e", "d", "."} {
			when = when.Add(time.Duration(i))
			must(t, setTime(unix.AT_FDCWD, filepath.Join(dir, name), when))
		}
		roundTrip(t, dir, tempDir(t))
	}
}

func TestG11LongNames(t *testing.T) {
	dir := tempDir(t)
	for _, n := range []int{99, 100, 101, 155, 256, 300, 1000} {
		name := strings.Repeat(fmt.Sprintf("%050d/", n), (n-4)/51) + "#é"
		name += strings.Repeat("n", n-len(name))
		write(t, filepath.Join(dir, name), name)
	}
	write(t, dir+"/"+strings.Repeat("m", 255), "x")
	must(t, os.Mkdir(dir+"/"+strings.Repeat("\xf0", 255), 0o755))
	for _, n := range []int{100, 101, 300} {
		must(t, os.Symlink(strings.Repeat("t", n), fmt.Sprintf("%s/link%d", dir, n)))
	}
	roundTrip(t, dir, tempDir(t))
}

func TestOddNamesAndTypes(t *testing.T) {
	dir := tempDir(t)
	for _, name := range []string{".wh.x", ".wh..wh..opq", "new\nline", "\xff", " lead", "trail ", "a\\b", "...", "..a", "-rf", "GNUSparseFile.0", "@LongLink", "é"} {
		write(t, dir+"/d/"+name, name)
		must(t, os.Mkdir(dir+"/"+name, 0o755))
	}
	must(t, unix.Mkfifo(dir+"/fifo", 0o620))
	must(t, os.Mkdir(dir+"/empty", 0o711))
	roundTrip(t, dir, tempDir(t))
}

func TestSocketsAreLeftOut(t *testing.T) {
	dir := tempDir(t)
	l, err := net.Listen("unix", dir+"/s")
	must(t, err)
	defer l.Close()
	write(t, dir+"/f", "x")
	var names []string
	for _, h := range listTar(t, mustPack(t, dir)) {
		names = append(names, h.Name)
	}
	if !slices.Equal(names, []string{"./", "f"}) {
		t.Errorf("tar has %q", names)
	}
}

func TestXattrs(t *testing.T) {
	dir := tempDir(t)
	write(t, dir+"/f", "x")
	must(t, os.Mkdir(dir+"/d", 0o755))
	for _, path := range []string{dir, dir + "/f", dir + "/d"} {
		for name, value := range map[string]string{"user.a": "plain", "user.empty": "", "user.b=c%3D": "\x00\xff\n", "user.é": strings.Repeat("v", 1000)} {
			if err := unix.Setxattr(path, name, []byte(value), 0); err == unix.EOPNOTSUPP {
				skip.OrFail(t, "no user attributes here")
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	must(t, os.Chmod(dir+"/f", 0o400))
	must(t, os.Chmod(dir+"/d", 0o500))
	roundTrip(t, dir, tempDir(t))
}

// What its owner may not read is in the tar, and is as closed as before.
func TestG5ClosedTree(t *testing.T) {
	if !asUser(t) {
		return
	}
	dir, to := tempDir(t), tempDir(t)
	for i, mode := range []uint32{0, 0o100, 0o200, 0o300, 0o400, 0o555, 0o600} {
		d := fmt.Sprintf("%s/d%d", dir, i)
		write(t, d+"/sub/f", "x")
		write(t, d+"/g", "y")
		must(t, unix.Chmod(d+"/g", mode))
		must(t, unix.Chmod(d+"/sub/f", 0o444))
		must(t, unix.Chmod(d+"/sub", mode))
		must(t, unix.Chmod(d, mode))
	}
	must(t, unix.Chmod(dir, 0))
	roundTrip(t, dir, to)
	roundTrip(t, dir, to) // into a tree that is as closed

	before := describe(t, dir)
	for limit := int64(0); limit < 60000; limit += 1111 {
		if _, _, err := pack(t, dir, PackOptions{MaxBytes: limit}); err != nil {
			wantCode(t, err, "too_large")
		}
	}
	if !slices.Equal(before, describe(t, dir)) {
		t.Error("modes are not put back after an error")
	}
}

func TestRandomTrees(t *testing.T) { rapid.Check(t, randomTree) }
func TestRandomTreesAsUser(t *testing.T) {
	if asUser(t) {
		rapid.Check(t, randomTree)
	}
}

// randomTree makes a tree of anything, packs it and takes it out again.
func randomTree(t *rapid.T) {
	base, err := os.MkdirTemp("", "archive")
	must(t, err)
	defer removeTree(t, base)
	dir, to := base+"/in", base+"/out"
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(to, 0o755))
	grow(t, dir)
	roundTrip(t, dir, to)
}

func grow(t *rapid.T, dir string) {
	dirs, made := []string{dir}, []string{dir}
	var plain []string
	name := rapid.StringMatching(`[a-c./ \\\n%=é-]{1,5}|[\x01-\xff]{1,3}|n{99,255}`).Filter(func(s string) bool {
		return s != "." && s != ".." && !strings.Contains(s, "/") && len(s) <= 255
	})
	for range rapid.IntRange(0, 12).Draw(t, "entries") {
		path := rapid.SampledFrom(dirs).Draw(t, "dir") + "/" + name.Draw(t, "name")
		if _, err := os.Lstat(path); err == nil || len(path) > 4000 {
			continue
		}
		switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
		case kind < 3:
			must(t, os.Mkdir(path, 0o700))
			dirs = append(dirs, path)
		case kind < 6:
			size := rapid.SampledFrom([]int{0, 1, 511, 512, 513, 3000}).Draw(t, "size")
			must(t, os.WriteFile(path, []byte(strings.Repeat("c\x00", size)), 0o600))
			plain = append(plain, path)
		case kind == 6 && len(plain) > 0:
			must(t, os.Link(rapid.SampledFrom(plain).Draw(t, "old"), path))
		case kind == 7:
			must(t, unix.Mkfifo(path, 0o600))
		default:
			text := rapid.StringMatching(`[a-c./é]{1,8}|/[x]{90,120}`).Draw(t, "text")
			must(t, os.Symlink(text, path))
		}
		made = append(made, path)
	}
	dress(t, made)
}

// dress gives entries modes and times, children before their directories.
func dress(t *rapid.T, made []string) {
	slices.Sort(made)
	for _, path := range slices.Backward(made) {
		st, err := os.Lstat(path)
		must(t, err)
		when := time.Unix(rapid.Int64Range(-1<<31, 1<<32).Draw(t, "sec"), rapid.Int64Range(0, 999999999).Draw(t, "ns"))
		if st.IsDir() && rapid.Bool().Draw(t, "xattr") {
			_ = unix.Setxattr(path, "user.k", []byte("v\x00"), 0)
		}
		must(t, setTime(unix.AT_FDCWD, path, when))
		if st.Mode().Type() != os.ModeSymlink {
			must(t, unix.Chmod(path, rapid.Uint32Range(0, 0o1777).Draw(t, "mode")))
		}
	}
}
