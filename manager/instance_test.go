package manager

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var quiet = slog.New(slog.DiscardHandler)

func instanceOf(t *testing.T, dir string) string {
	t.Helper()
	id, err := InstanceID(dir, quiet)
	if err != nil {
		t.Fatalf("InstanceID: %v", err)
	}
	return id
}

func TestInstanceIDStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	id := instanceOf(t, dir)
	if len(id) != 32 {
		t.Errorf("ID is %q", id)
	}
	for _, way := range []string{dir, link, dir + "/../b"} {
		if again := instanceOf(t, way); again != id {
			t.Errorf("%s: %q, was %q", way, again, id)
		}
	}
	if other := instanceOf(t, filepath.Join(filepath.Dir(dir), "c")); other == id {
		t.Error("two directories have one ID")
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, markName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v, %v", path, info.Mode(), err)
		}
	}
}

// What an earlier directory of the same path made is not a new one's to remove:
// the earlier one may be on a disk that is not mounted, or have been deleted.
func TestEmptyDirectoryIsANewServer(t *testing.T) {
	dir := t.TempDir()
	legacy, first := derived(homeIn(t, dir)), instanceOf(t, dir)
	for name, empty := range map[string]func(){
		"deleted":               func() { must(t, os.RemoveAll(dir)) },
		"emptied":               func() { must(t, os.RemoveAll(dir)); must(t, os.Mkdir(dir, 0o700)) },
		"emptied of records":    func() { must(t, os.Remove(filepath.Join(dir, markName))) },
		"a disk just formatted": func() { must(t, os.RemoveAll(dir)); must(t, os.MkdirAll(filepath.Join(dir, "lost+found"), 0o700)) },
	} {
		empty()
		if id := instanceOf(t, dir); id == first || id == legacy {
			t.Errorf("%s: it is called %q as before", name, id)
		}
	}
}

// A directory of a release before the mark keeps the name that its containers
// have; one without records has none to keep.
func TestDirectoryOfAnEarlierRelease(t *testing.T) {
	dir := earlierDir(t)
	legacy := derived(homeIn(t, dir))
	if id := instanceOf(t, dir); id == legacy {
		t.Error("without records it is called as a directory before it may have been")
	}
	dir = earlierDir(t)
	legacy = derived(homeIn(t, dir))
	saveRecord(t, dir, "")
	for range 2 {
		if id := instanceOf(t, dir); id != legacy {
			t.Errorf("it is called %q, was %q", id, legacy)
		}
	}
	if text := read(t, filepath.Join(dir, markName)); !strings.Contains(text, legacy) {
		t.Errorf("the mark has %q", text)
	}
}

// Of a directory and its copy only the one that stayed knows its containers, for
// two servers of one name would remove each other's. One that comes back has not
// forgotten.
func TestMovedAndCopiedDirectories(t *testing.T) {
	dir, away := t.TempDir(), filepath.Join(t.TempDir(), "away")
	id := instanceOf(t, dir)
	saveRecord(t, dir, id)

	must(t, os.CopyFS(away, os.DirFS(dir)))
	copied := instanceOf(t, away)
	if copied == id || instanceOf(t, dir) != id {
		t.Errorf("the copy is called %q, the original %q", copied, id)
	}
	must(t, os.RemoveAll(away))

	must(t, os.Rename(dir, away))
	moved := instanceOf(t, away)
	if moved == id || moved == copied || instanceOf(t, away) != moved {
		t.Errorf("moved it is called %q", moved)
	}
	must(t, os.Rename(away, dir))
	if back := instanceOf(t, dir); back != id {
		t.Errorf("back again it is called %q, was %q", back, id)
	}
}

// The mark may be lost or damaged: the records know, and where there are none
// nothing is lost with it.
func TestDamagedMark(t *testing.T) {
	dir := t.TempDir()
	id := instanceOf(t, dir)
	mark := filepath.Join(dir, markName)
	whole := read(t, mark)
	harms := map[string]string{
		"empty": "", "NULs": strings.Repeat("\x00", len(whole)), "noise": "\xff\xfe\n\n\x80", "cut": whole[:len(whole)-9],
		"huge": strings.Repeat("x", maxMark+1), "another's": markHeader + newInstance("elsewhere") + "\n",
	}
	for i := range 8 * len(whole) {
		flipped := []byte(whole)
		flipped[i/8] ^= 1 << (i % 8)
		if i%5 == 0 || i/8 > len(markHeader) {
			harms[fmt.Sprint("bit ", i)] = string(flipped)
		}
	}
	saveRecord(t, dir, id)
	for harm, text := range harms {
		must(t, os.WriteFile(mark, []byte(text), 0o600))
		if again := instanceOf(t, dir); again != id {
			t.Errorf("%s: it is called %q, was %q", harm, again, id)
		}
	}
	must(t, os.RemoveAll(filepath.Join(dir, "sandboxes")))
	must(t, os.Truncate(mark, 0))
	if again := instanceOf(t, dir); again == id || instanceOf(t, dir) != again {
		t.Errorf("without records: %q, was %q", again, id)
	}
}

// A record from elsewhere does not make this directory's server another's.
func TestRecordsOfAnotherHomeNameNobody(t *testing.T) {
	dir := t.TempDir()
	saveRecord(t, dir, newInstance("elsewhere"))
	must(t, os.WriteFile(filepath.Join(dir, pidName), nil, 0o600)) // of an earlier release
	if id := instanceOf(t, dir); pick([]string{id}, homeIn(t, dir)) == "" {
		t.Errorf("it is called %q", id)
	}
}

// Any number of first starts at once end with one name.
func TestInstanceIDIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]bool{}
	for range 8 {
		wg.Go(func() {
			id, err := InstanceID(dir, quiet)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ids[id] = true
			} else if !errors.Is(err, ErrDataDirHeld) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("IDs are %v", ids)
	}
}

// A directory that is somebody's is refused, and stays as it was.
func TestDirectoryThatIsNotOurs(t *testing.T) {
	for name, make := range map[string]func(dir string) error{
		"a home":        func(dir string) error { return os.Mkdir(filepath.Join(dir, "Documents"), 0o755) },
		"a hidden file": func(dir string) error { return os.WriteFile(filepath.Join(dir, ".profile"), nil, 0o644) },
		"a link":        func(dir string) error { return os.Symlink("/", filepath.Join(dir, "root")) },
		"like ours":     func(dir string) error { return os.Mkdir(filepath.Join(dir, "sandboxes"), 0o755) },
	} {
		dir := t.TempDir()
		must(t, make(dir))
		must(t, os.Chmod(dir, 0o755))
		before := tree(t, dir)
		for what, err := range map[string]error{
			"InstanceID": second(InstanceID(dir, quiet)),
			"New":        second(New(Config{DataDir: dir}, nil)),
		} {
			if err == nil || !strings.Contains(err.Error(), "not empty") {
				t.Errorf("%s, %s: error is %v", name, what, err)
			}
		}
		if d := cmp.Diff(before, tree(t, dir)); d != "" {
			t.Errorf("%s: changed: %s", name, d)
		}
	}
}

// What a first start leaves that was cut off is taken up again.
func TestFirstStartCutOff(t *testing.T) {
	for _, names := range [][]string{{}, {lockName}, {lockName, "." + markName + "123"}, {lockName, pidName}} {
		dir := t.TempDir()
		for _, name := range names {
			must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		}
		instanceOf(t, dir)
	}
}

func second[T any](_ T, err error) error { return err }

// tree is all there is of a directory, as far as anybody can see.
func tree(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		info, _ := e.Info()
		all[path] = info.Mode().String() + info.ModTime().String()
		return err
	}))
	return all
}

func earlierDir(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{lockName, pidName} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for _, name := range []string{"sandboxes", "snapshots"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	return dir
}

func saveRecord(t *testing.T, dir, instance string) schemas.SandboxID {
	s, err := openStore(dir, quiet)
	must(t, err)
	s.instance = instance
	r := someRecord()
	must(t, s.save(r))
	return r.ID
}

func homeIn(t *testing.T, dir string) string {
	home, err := homeOf(dir)
	must(t, err)
	return home
}

func read(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
