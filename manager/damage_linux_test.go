package manager_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// damaged is a server that was stopped, with one sandbox and snapshot whose
// files come to harm, and others that must not notice.
type damaged struct {
	*server
	victim, bystander   schemas.SandboxID
	lostSnap, otherSnap schemas.SnapshotID
	outside             string // a directory beside the data directory
}

// Every kind of file in the data directory comes to every harm. The next start
// is neither stopped nor held up; nothing outside is touched; who was not hurt
// does not notice; and who was works, is gone, or says what is wrong.
func TestDamagedFiles(t *testing.T) {
	files := map[string]func(d *damaged) string{
		"sandbox record":  func(d *damaged) string { return d.recordFile(d.victim) },
		"snapshot record": func(d *damaged) string { return filepath.Join(d.snapDir(), string(d.lostSnap)+".json") },
		"snapshot tar":    func(d *damaged) string { return d.tarFile(d.lostSnap) },
		"mark":            func(d *damaged) string { return filepath.Join(d.cfg.DataDir, "mcp-sandbox.id") },
		"lock":            func(d *damaged) string { return filepath.Join(d.cfg.DataDir, "lock") },
		"lock.pid":        func(d *damaged) string { return filepath.Join(d.cfg.DataDir, "lock.pid") },
	}
	for file, path := range files {
		for harm, act := range harms {
			t.Run(file+", "+harm, func(t *testing.T) {
				t.Parallel()
				d := beforeDamage(t)
				act(t, d, path(d))
				d.restartInTime()
				d.wantUnharmed()
				d.wantVictimDefined()
				d.Close()
				d.restartInTime() // what was made of it lasts
				d.wantUnharmed()
			})
		}
	}
}

func beforeDamage(t *testing.T) *damaged {
	d := &damaged{server: start(t), outside: t.TempDir()}
	d.victim, d.bystander = d.create().ID, d.create().ID
	for _, id := range []schemas.SandboxID{d.victim, d.bystander} {
		d.mustSh(id, "echo kept > f")
	}
	d.lostSnap, d.otherSnap = d.snap(d.victim).ID, d.snap(d.bystander).ID
	d.fake.PlantContainer("agent-sandbox-foreign", false)
	d.fake.PlantVolume("agent-sandbox-foreign", false)
	must(t, os.WriteFile(d.sentinel(), []byte("theirs"), 0o644))
	d.Close()
	return d
}

func (d *damaged) sentinel() string { return filepath.Join(d.outside, "theirs") }

func (d *damaged) restartInTime() {
	d.t.Helper()
	type made struct {
		m   *manager.Manager
		err error
	}
	done := make(chan made, 1)
	go func() {
		m, err := manager.New(d.cfg, d.fake)
		done <- made{m, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			d.t.Fatalf("it does not start: %v", r.err)
		}
		d.Manager = r.m
	case <-time.After(20 * time.Second):
		d.t.Fatal("the start hangs")
	}
	d.Start()
	d.t.Cleanup(func() { d.Close() })
}

func (d *damaged) wantUnharmed() {
	d.t.Helper()
	if got := d.mustSh(d.bystander, "cat f"); got != "kept\n" {
		d.t.Errorf("the other sandbox holds %q", got)
	}
	fork := d.mustFork(d.otherSnap).ID
	if got := d.mustSh(fork, "cat f"); got != "kept\n" {
		d.t.Errorf("a fork of the other snapshot holds %q", got)
	}
	if err := d.Destroy(d.t.Context(), owner, fork); err != nil {
		d.t.Error(err)
	}
	if got, err := os.ReadFile(d.sentinel()); err != nil || string(got) != "theirs" {
		d.t.Errorf("a file outside holds %q, %v", got, err)
	}
	if info, err := os.Stat(d.sentinel()); err != nil || info.Mode().Perm() != 0o644 {
		d.t.Errorf("a file outside is %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(d.outside); len(left) != 1 {
		d.t.Errorf("outside is now %v", left)
	}
	if !slices.Contains(d.fake.Containers(), "agent-sandbox-foreign") || !slices.Contains(d.fake.Volumes(), "agent-sandbox-foreign") {
		d.t.Error("what is not ours was removed from the backend")
	}
}

// wantVictimDefined: no half state.
func (d *damaged) wantVictimDefined() {
	d.t.Helper()
	if d.isGone(d.victim) {
		eventually(d.t, "what a lost record stood for is removed", func() bool {
			return !slices.Contains(d.fake.Containers(), containerOf(d.victim)) && !slices.Contains(d.fake.Volumes(), containerOf(d.victim))
		})
	} else if got := d.mustSh(d.victim, "cat f"); got != "kept\n" {
		d.t.Errorf("it holds %q", got)
	}
	if !slices.Contains(d.snapshots(), d.lostSnap) {
		return
	}
	r, err := d.fork(d.lostSnap, schemas.ForkRequest{})
	if err != nil {
		wantKind(d.t, err, manager.KindConflict)
		return
	}
	if got := d.mustSh(r.Sandboxes[0].ID, "cat f"); got != "kept\n" {
		d.t.Errorf("a fork of it holds %q", got)
	}
}

var harms = map[string]func(t *testing.T, d *damaged, path string){
	"missing":   func(t *testing.T, _ *damaged, path string) { must(t, os.Remove(path)) },
	"empty":     func(t *testing.T, _ *damaged, path string) { must(t, os.Truncate(path, 0)) },
	"cut":       func(t *testing.T, _ *damaged, path string) { must(t, os.Truncate(path, size(path)/2)) },
	"one short": func(t *testing.T, _ *damaged, path string) { must(t, os.Truncate(path, max(size(path)-1, 0))) },
	"NULs":      func(t *testing.T, _ *damaged, path string) { overwrite(t, path, make([]byte, size(path))) },
	"half NULs": func(t *testing.T, _ *damaged, path string) {
		must(t, os.Truncate(path, size(path)/2))
		must(t, os.Truncate(path, 4096))
	},
	"noise":       func(t *testing.T, _ *damaged, path string) { overwrite(t, path, []byte(noise(500))) },
	"a bit flips": func(t *testing.T, _ *damaged, path string) { flip(t, path, size(path)*4) },
	"null":        func(t *testing.T, _ *damaged, path string) { overwrite(t, path, []byte("null")) },
	"a list":      func(t *testing.T, _ *damaged, path string) { overwrite(t, path, []byte(`[{"version":1}]`)) },
	"deep":        func(t *testing.T, _ *damaged, path string) { overwrite(t, path, bytes.Repeat([]byte("["), 1<<20)) },
	"twice": func(t *testing.T, _ *damaged, path string) {
		overwrite(t, path, append(content(path), content(path)...))
	},
	"keys twice": func(t *testing.T, _ *damaged, path string) {
		overwrite(t, path, bytes.Replace(content(path), []byte("{"), []byte(`{"id":"sb_0123456789abcdef","state":"destroying",`), 1))
	},
	"another kind": func(t *testing.T, d *damaged, path string) {
		other := d.recordFile(d.bystander)
		if other == path || strings.Contains(path, "sandboxes") {
			other = filepath.Join(d.snapDir(), string(d.otherSnap)+".json")
		}
		overwrite(t, path, content(other))
	},
	"another's": func(t *testing.T, d *damaged, path string) {
		r := strings.NewReplacer(string(d.victim), string(d.bystander), string(d.lostSnap), string(d.otherSnap))
		if other := r.Replace(path); other != path {
			overwrite(t, path, content(other))
		}
	},
	"a later version": func(t *testing.T, _ *damaged, path string) {
		overwrite(t, path, bytes.Replace(content(path), []byte(`"version": 1`), []byte(`"version": 2, "unheard": {"of": []}`), 1))
	},
	"huge": func(t *testing.T, _ *damaged, path string) { must(t, os.Truncate(path, 1<<30)) },
	"a directory": func(t *testing.T, _ *damaged, path string) {
		must(t, os.Remove(path))
		must(t, os.MkdirAll(filepath.Join(path, "full"), 0o755))
	},
	"a link outside": func(t *testing.T, d *damaged, path string) { relink(t, path, d.sentinel()) },
	"a link to a name outside that is free": func(t *testing.T, d *damaged, path string) {
		relink(t, path, filepath.Join(d.outside, "new"))
	},
	"a link to another of ours": func(t *testing.T, d *damaged, path string) {
		r := strings.NewReplacer(string(d.victim), string(d.bystander), string(d.lostSnap), string(d.otherSnap))
		relink(t, path, filepath.Base(r.Replace(path)))
	},
	"a FIFO": func(t *testing.T, _ *damaged, path string) {
		must(t, os.Remove(path))
		must(t, syscall.Mkfifo(path, 0o600))
	},
	"a socket": func(t *testing.T, _ *damaged, path string) {
		must(t, os.Remove(path))
		must(t, syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0))
	},
	"a device": func(t *testing.T, _ *damaged, path string) {
		must(t, os.Remove(path))
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|5); err != nil { // /dev/zero
			must(t, syscall.Mkfifo(path, 0o600)) // only root can
		}
	},
	"mode 000":  func(t *testing.T, _ *damaged, path string) { must(t, os.Chmod(path, 0)) },
	"mode 0666": func(t *testing.T, _ *damaged, path string) { must(t, os.Chmod(path, 0o666)) },
	"another owner": func(t *testing.T, _ *damaged, path string) {
		if os.Getuid() == 0 {
			must(t, os.Chown(path, nobody, nobody))
		}
	},
	"other names": func(t *testing.T, _ *damaged, path string) {
		for _, name := range []string{"%s~", "%s.tmp", "%s.corrupt", ".%s", ".%s1", "%s.bak", " %s", "%s\n"} {
			copied := filepath.Join(filepath.Dir(path), strings.Replace(name, "%s", filepath.Base(path), 1))
			must(t, os.WriteFile(copied, content(path), 0o600))
		}
		upper := filepath.Join(filepath.Dir(path), strings.ToUpper(filepath.Base(path)))
		must(t, os.WriteFile(upper, content(path), 0o600))
		must(t, os.Remove(path))
	},
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func content(path string) []byte {
	data, _ := os.ReadFile(path)
	return data
}

func overwrite(t *testing.T, path string, data []byte) { must(t, os.WriteFile(path, data, 0o600)) }

func relink(t *testing.T, path, to string) {
	must(t, os.Remove(path))
	must(t, os.Symlink(to, path))
}

// flip turns one bit, if there is any.
func flip(t *testing.T, path string, bit int64) {
	data := content(path)
	if len(data) > 0 {
		data[bit/8%int64(len(data))] ^= 1 << (bit % 8)
	}
	overwrite(t, path, data)
}
