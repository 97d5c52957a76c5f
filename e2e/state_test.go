package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestState: what a data directory may have come to. The package manager tries
// every damage on every file; here are some of each kind.
func TestState(t *testing.T) {
	t.Parallel()
	s := start(t)
	alone(t, s, []testCase[*server]{
		{"damaged files", damagedFiles},
		{"junk", junk},
		{"records that name what is another's", recordsNamingOthers},
		{"something else has the container's name", nameTakenOutside},
	})
	t.Run("a directory that is somebody's", somebodysDirectory)
	t.Run("a directory that was deleted", deletedDirectory)
	t.Run("a copy beside the original", copiedDirectory)
	t.Run("sleep while no server runs", sleepWhileDown)
}

func (s *server) path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

// outside is a file that is nobody's business.
func outside(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "theirs")
	check(t, os.WriteFile(path, []byte("theirs"), 0o644))
	t.Cleanup(func() {
		if got, err := os.ReadFile(path); err != nil || string(got) != "theirs" {
			t.Errorf("a file outside the data directory holds %q, %v", got, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("a file outside the data directory is %v, %v", info.Mode(), err)
		}
	})
	return path
}

// damagedFiles: the start is neither stopped nor held up, and who was not hurt
// does not notice.
func damagedFiles(s *server) {
	lost, other := s.create(), s.create()
	other.must("echo kept > f")
	bad, good := lost.snapshot("bad"), other.snapshot("good")
	record, theirs := lost.record(), outside(s.t)
	rounds := []map[string]func() error{{
		"NULs": func() error { return os.WriteFile(record, make([]byte, 4096), 0o600) },
		"a FIFO in place of a snapshot's record": func() error {
			return inPlaceOf(s.path("snapshots", string(bad.ID)+".json"), func(path string) error { return syscall.Mkfifo(path, 0o600) })
		},
		"a link in place of the file that says who runs": func() error {
			return inPlaceOf(s.path("lock.pid"), func(path string) error { return os.Symlink(theirs, path) })
		},
		"a link in place of the local socket's directory": func() error {
			return inPlaceOf(s.path("run"), func(path string) error { return os.Symlink(filepath.Dir(theirs), path) })
		},
	}, {
		"a FIFO in place of the lock": func() error {
			return inPlaceOf(s.path("lock"), func(path string) error { return syscall.Mkfifo(path, 0o600) })
		},
		"an empty file for the instance": func() error { return os.Truncate(s.path("mcp-sandbox.id"), 0) },
		"open modes": func() error {
			return filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, _ error) error {
				if e.Type().IsRegular() || e.IsDir() && path != s.dir {
					return os.Chmod(path, 0o777)
				}
				return nil
			})
		},
	}}
	for i, harms := range rounds {
		s.Kill()
		for harm, act := range harms {
			if err := act(); err != nil {
				s.t.Fatalf("%s: %v", harm, err)
			}
		}
		took(s.t, 10*time.Second, "a start", func() { s.up() })
		orphaned(s)
		if out := other.must("cat f"); out != "kept\n" {
			s.t.Errorf("round %d: the other sandbox holds %q", i, out)
		}
		s.private()
	}
	f := s.fork(good.ID)
	if out := f.must("cat f"); out != "kept\n" {
		s.t.Errorf("a fork of the other snapshot holds %q", out)
	}
	s.refuse("exec", args{"sandbox_id": lost.ID, "command": "true"}, schemas.CodeNotFound)
	if l := s.snapshots(); len(l) != 1 || l[0].ID != good.ID {
		s.t.Errorf("listed are %+v", l)
	}
}

// inPlaceOf makes something else where a file or directory was.
func inPlaceOf(path string, make func(path string) error) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return make(path)
}

// private checks that nobody else gets at what the server keeps.
func (s *server) private() {
	s.t.Helper()
	check(s.t, filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && (e.IsDir() || e.Type().IsRegular()) && info.Mode().Perm()&0o077 != 0 {
			s.t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	}))
}

// junk: any number of files that are none of the server's hold it up for no
// longer than it takes to list them, and stay.
func junk(s *server) {
	b := s.create()
	s.Kill()
	n := count(2_000, 100_000)
	for _, dir := range []string{"sandboxes", "snapshots"} {
		for i := range n {
			name := fmt.Sprintf([]string{"x%d.json", "sb_%016X.json", ".%d", "%d.tar.zst", "snap_%016x.json~"}[i%5], i)
			check(s.t, os.WriteFile(s.path(dir, name), nil, 0o600))
		}
	}
	took(s.t, 30*time.Second, "a start among junk", func() { s.up() })
	b.alive()
	for _, dir := range []string{"sandboxes", "snapshots"} {
		entries, err := os.ReadDir(s.path(dir))
		if check(s.t, err); len(entries) < n {
			s.t.Errorf("of %d files in %s %d are left", n, dir, len(entries))
		}
	}
	if lines := strings.Count(s.Log(), "no file of the server's"); lines != 2 {
		s.t.Errorf("the log has %d lines about it", lines)
	}
	for _, dir := range []string{"sandboxes", "snapshots"} {
		entries, _ := filepath.Glob(s.path(dir, "*[0-9~nt]"))
		for _, e := range entries {
			if filepath.Base(e) != string(b.ID)+".json" {
				os.Remove(e)
			}
		}
	}
}

// recordsNamingOthers: a record that names what it did not make is no record.
func recordsNamingOthers(s *server) {
	foreign, instance := "agent-sandbox-foreign-"+s.instance[:8], "another-"+s.instance[:8]
	labels := []string{"--label", "io.agent-sandbox.managed=true", "--label", "io.agent-sandbox.instance=" + instance}
	mustDocker(s.t, "create", "--name", foreign, busybox, "true")
	mustDocker(s.t, "volume", "create", foreign)
	mustDocker(s.t, append(append([]string{"create", "--name", foreign + "-2"}, labels...), busybox, "true")...)
	s.t.Cleanup(func() {
		docker("rm", "-f", foreign, foreign+"-2")
		docker("volume", "rm", foreign)
	})
	for _, name := range []string{foreign, "../containers/" + foreign + "-2"} {
		b := s.create()
		record, own := b.record(), "agent-sandbox-"+string(b.ID)+"-1"
		text, err := os.ReadFile(record)
		check(s.t, err)
		s.Kill()
		check(s.t, os.WriteFile(record, bytes.ReplaceAll(text, []byte(own), []byte(name)), 0o600))
		s.up()
		orphaned(s)
		s.refuse("exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeNotFound)
	}
	mustDocker(s.t, "inspect", foreign, foreign+"-2")
	mustDocker(s.t, "volume", "inspect", foreign)
}

// nameTakenOutside: what somebody put in the place of a sandbox's container and
// volume is neither used nor removed.
func nameTakenOutside(s *server) {
	b := s.create()
	container, volume := "agent-sandbox-"+string(b.ID)+"-1", s.volumeOf(string(b.ID))
	mustDocker(s.t, "rm", "-f", container)
	mustDocker(s.t, "volume", "rm", volume)
	mustDocker(s.t, "volume", "create", volume)
	mustDocker(s.t, "create", "--name", container, "-v", volume+":/v", busybox, "sh", "-c", "true")
	s.t.Cleanup(func() { docker("rm", "-f", container); docker("volume", "rm", volume) })
	s.restart()
	s.refuse("exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeConflict)
	check(s.t, s.destroy(b.ID))
	mustDocker(s.t, "inspect", container)
	mustDocker(s.t, "volume", "inspect", volume)
}

// somebodysDirectory is refused, by every command, and stays as it is.
func somebodysDirectory(t *testing.T) {
	s := quiet(t)
	home := t.TempDir()
	check(t, os.Mkdir(filepath.Join(home, "Documents"), 0o755))
	check(t, os.Chmod(home, 0o755))
	for _, door := range []client.Door{client.Stdio, client.REST} {
		o := s.launch("--data-dir=" + home)
		o.Door, o.Env = door, []string{"AGENT_SANDBOX_API_KEYS=" + aliceKey}
		p, err := client.Launch(o)
		check(t, err)
		code, err := p.ExitCode(5 * time.Second)
		if said := p.Log(); code != 1 || err != nil || !strings.Contains(said, home) || !strings.Contains(said, "Documents") || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: exit code %d, %v, %q", door, code, err, said)
		}
	}
	entries, err := os.ReadDir(home)
	info, statErr := os.Stat(home)
	if err != nil || statErr != nil || len(entries) != 1 || info.Mode().Perm() != 0o755 {
		t.Errorf("it has %v, %v and is %v, %v", entries, err, info.Mode(), statErr)
	}
}

// deletedDirectory: a server on a new directory of the same path does not take
// what the old one made for its own. The doctor finds it once it has stopped,
// and says how to remove it.
func deletedDirectory(t *testing.T) {
	s := start(t)
	old := &server{&program{instance: s.instance}, t}
	b := s.create()
	container, volume := s.containerOf(string(b.ID)), s.volumeOf(string(b.ID))
	s.Kill()
	check(t, os.RemoveAll(s.dir))
	check(t, os.Mkdir(s.dir, 0o700))
	s.instance = instanceIn(t, s.dir)
	orphan := "agent-sandbox-orphan-" + s.instance[:8]
	mustDocker(t, "volume", "create", "--label", "io.agent-sandbox.managed=true", "--label", "io.agent-sandbox.instance="+s.instance, orphan)
	s.up()
	orphaned(s) // so it has compared its records with Docker
	mustDocker(t, "inspect", container)
	mustDocker(t, "volume", "inspect", volume)

	if out := doctor(t, s); strings.Contains(out, old.instance) {
		t.Errorf("the doctor tells of what runs:\n%s", out)
	}
	mustDocker(t, "kill", container)
	out := doctor(t, s)
	_, remove, told := strings.Cut(out, old.instance+`" left 1 containers, none running, and 1 volumes`)
	if !told {
		t.Fatalf("the doctor does not tell of %s:\n%s", old.instance, out)
	}
	_, remove, _ = strings.Cut(remove, " -> ")
	remove, _, _ = strings.Cut(remove, "\n")
	if text, err := exec.Command("sh", "-c", remove).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", remove, err, text)
	}
	if left := old.leftovers(); len(left) > 0 {
		t.Errorf("after %s there are %q", remove, left)
	}
}

func doctor(t *testing.T, s *server) string {
	t.Helper()
	out, err := exec.Command(s.launch().Binary, "doctor", "--data-dir="+s.dir).CombinedOutput()
	if err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	return string(out)
}

// copiedDirectory: a server on a copy has the snapshots, and leaves the sandboxes
// to the one that made them.
func copiedDirectory(t *testing.T) {
	s := start(t)
	b := s.create()
	b.must("echo kept > f")
	snap := b.snapshot("x")
	dir := filepath.Join(t.TempDir(), "copy")
	check(t, os.CopyFS(dir, noSockets{os.DirFS(s.dir)}))

	second := launch(t, program{dir: dir})
	if second.instance == s.instance {
		t.Fatal("both have one name in Docker")
	}
	second.refuse("exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeConflict)
	f := second.fork(snap.ID)
	if out := f.must("cat f"); out != "kept\n" {
		t.Errorf("a fork of the copied snapshot holds %q", out)
	}
	copied := &sandbox{second, second.get(b.ID)}
	copied.rollback(snap.ID)
	if out := copied.must("cat f; echo other > f; cat f"); out != "kept\nother\n" {
		t.Errorf("rolled back the copied sandbox holds %q", out)
	}
	check(t, second.destroy(b.ID))
	if out := b.must("cat f"); out != "kept\n" {
		t.Errorf("the original sandbox holds %q", out)
	}
	s.restart()
	if out := b.must("cat f"); out != "kept\n" {
		t.Errorf("after a restart the original sandbox holds %q", out)
	}
}

// noSockets leaves out what a copy cannot have.
type noSockets struct{ fs.FS }

func (n noSockets) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "run" {
		return nil, nil
	}
	return fs.ReadDir(n.FS, name)
}

// sleepWhileDown: the time of day says that there is time, and the time since
// boot, of which an hour was sleep, that there is none. A time namespace plays
// the machine that has slept.
func sleepWhileDown(t *testing.T) {
	s := start(t)
	short, long := s.create(args{"timeout_seconds": 1800}), s.create(args{"timeout_seconds": 7200})
	s.Kill()
	s.build = func() (string, error) { return inTimeNamespace(t, 3600) }
	s.up()
	s.refuse("exec", args{"sandbox_id": short.ID, "command": "true"}, schemas.CodeNotFound)
	orphaned(s)
	long.alive()
	eventually(t, 20*time.Second, "the expiry is shown as the clock goes now", func() (bool, any) {
		left := time.Until(s.get(long.ID).ExpiresAt)
		return left > 58*time.Minute && left < time.Hour, left
	})
	s.build = nil
	s.restart() // its clocks go back an hour, which must keep nothing for longer than it was given
	if left := time.Until(s.get(long.ID).ExpiresAt); left > 2*time.Hour {
		t.Errorf("it lives for another %v", left)
	}
}

// inTimeNamespace is a program that runs the server with a machine's start so
// many seconds ago.
func inTimeNamespace(t *testing.T, seconds int) (string, error) {
	path, err := binary()
	if err != nil {
		return "", err
	}
	unshare := fmt.Sprintf("unshare --time --boottime %d", seconds)
	if os.Getuid() != 0 {
		unshare += " --map-root-user"
	}
	if out, err := exec.Command("sh", "-c", unshare+" true").CombinedOutput(); err != nil {
		skip.OrFail(t, fmt.Sprintf("no time namespaces here: %v\n%s", err, out))
	}
	script := filepath.Join(t.TempDir(), "server")
	text := fmt.Sprintf("#!/bin/sh\nexec %s %q \"$@\"\n", unshare, path)
	return script, os.WriteFile(script, []byte(text), 0o700)
}
