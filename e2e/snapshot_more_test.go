package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (s *server) deleteSnapshot(id schemas.SnapshotID) error {
	return s.Call(ctx(s.t), "snapshot_delete", args{"snapshot_id": id}, nil)
}

// snapshots is every snapshot that is listed.
func (s *server) snapshots() []schemas.Snapshot {
	s.t.Helper()
	return pages(s, "snapshot_list", func(p schemas.SnapshotList) ([]schemas.Snapshot, string) { return p.Snapshots, p.NextCursor })
}

func deletedSnapshot(b *sandbox) {
	b.must("echo original > f")
	snap := b.snapshot("gone")
	f := b.fork(snap.ID)
	if err := b.deleteSnapshot(snap.ID); err != nil {
		b.t.Fatal(err)
	}
	if out := f.must("cat f; echo more > g; ls | wc -l"); !strings.HasPrefix(out, "original\n") {
		b.t.Errorf("the fork has %q", out)
	}
	own := f.snapshot("own")
	f.must("rm f")
	f.rollback(own.ID)
	if out := f.must("cat f"); out != "original\n" {
		b.t.Errorf("after the rollback: %q", out)
	}
	b.refuse("rollback", args{"sandbox_id": b.ID, "snapshot_id": snap.ID}, schemas.CodeNotFound)
	b.refuse("fork", args{"snapshot_id": snap.ID}, schemas.CodeNotFound)
	raceWithDelete(b)
}

// raceWithDelete: a fork gets all of a snapshot or none.
func raceWithDelete(b *sandbox) {
	for range count(3, 10) {
		snap := b.snapshot("race")
		wait := inBackground(func() { b.deleteSnapshot(snap.ID) })
		r, err := try[schemas.ForkResult](b.server, "fork", args{"snapshot_id": snap.ID})
		wait()
		if err != nil {
			if c := client.Code(err); c != string(schemas.CodeNotFound) && c != string(schemas.CodeConflict) {
				b.t.Errorf("fork beside a delete: %v", err)
			}
			continue
		}
		f := &sandbox{b.server, r.Sandboxes[0]}
		if out := f.must("cat f"); out != "original\n" {
			b.t.Errorf("half a workspace: %q", out)
		}
		b.destroy(f.ID)
	}
}

// stored is the file that holds a snapshot's bytes.
func stored(b *sandbox, id schemas.SnapshotID) string {
	b.t.Helper()
	var found string
	filepath.Walk(b.dir, func(path string, f os.FileInfo, err error) error {
		if err == nil && f.Mode().IsRegular() && strings.Contains(path, string(id)) && !strings.HasSuffix(path, ".json") {
			found = path
		}
		return nil
	})
	if found == "" {
		b.t.Fatalf("no file of %s below %s", id, b.dir)
	}
	return found
}

// damagedSnapshot: whatever happened to the stored bytes, nothing is lost.
func damagedSnapshot(b *sandbox) {
	b.must("echo precious > f")
	for what, damage := range map[string]func(path string) error{
		"a byte is changed": func(path string) error {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			raw[len(raw)/2] ^= 1
			return os.WriteFile(path, raw, 0o600)
		},
		"the end is missing": func(path string) error { return os.Truncate(path, 20) },
		"another tar":        func(path string) error { return os.WriteFile(path, []byte("no tar at all"), 0o600) },
		"empty":              func(path string) error { return os.Truncate(path, 0) },
		"gone":               os.Remove,
	} {
		snap := b.snapshot("damaged")
		if err := damage(stored(b, snap.ID)); err != nil {
			b.t.Fatal(err)
		}
		for tool, a := range map[string]args{
			"rollback": {"sandbox_id": b.ID, "snapshot_id": snap.ID},
			"fork":     {"snapshot_id": snap.ID},
		} {
			err := b.Call(ctx(b.t), tool, a, nil)
			if c := client.Code(err); err == nil || c == "" || c == string(schemas.CodeInternal) {
				b.t.Errorf("%s where %s: %v, want a typed error", tool, what, err)
			}
		}
		if out := b.must("cat f"); out != "precious\n" {
			b.t.Errorf("%s: the sandbox has %q", what, out)
		}
		if err := b.deleteSnapshot(snap.ID); err != nil && client.Code(err) != string(schemas.CodeNotFound) {
			b.t.Errorf("delete where %s: %v", what, err)
		}
	}
}

func idsAreNoPaths(b *sandbox) {
	canary := filepath.Join(filepath.Dir(b.dir), "canary")
	if err := os.WriteFile(canary, []byte("sings"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	good := b.snapshot("good")
	for _, id := range []string{"../canary", "..%2fcanary", "/etc/passwd", ".", "", strings.Repeat("a", 300), string(good.ID) + ".tar",
		string(good.ID) + "/../" + string(good.ID), strings.ToUpper(string(good.ID)), string(good.ID) + "\x00", "snap_0000000000000000"} {
		codes := []schemas.Code{schemas.CodeInvalidRequest, schemas.CodeNotFound}
		b.refuse("snapshot_delete", args{"snapshot_id": id}, codes...)
		b.refuse("rollback", args{"sandbox_id": b.ID, "snapshot_id": id}, codes...)
		b.refuse("fork", args{"snapshot_id": id}, codes...)
		sandboxID := strings.Replace(id, "snap_", "sb_", 1)
		for _, tool := range []string{"sandbox_destroy", "list_files", "snapshot"} {
			b.refuse(tool, args{"sandbox_id": sandboxID}, codes...)
		}
	}
	if raw, err := os.ReadFile(canary); err != nil || string(raw) != "sings" {
		b.t.Errorf("the canary: %q, %v", raw, err)
	}
	if err := b.deleteSnapshot(good.ID); err != nil {
		b.t.Error(err)
	}
}

func parallelSnapshots(b *sandbox) {
	b.must("head -c 2000000 /dev/urandom > random")
	other := b.create()
	other.must("echo other > f")
	var mu sync.Mutex
	made := map[schemas.SnapshotID]*sandbox{}
	repeat(b.t, 8, 8, func(i int) error {
		of := []*sandbox{b, other}[i%2]
		snap, err := try[schemas.Snapshot](b.server, "snapshot", args{"sandbox_id": of.ID})
		if err != nil {
			if client.Code(err) != string(schemas.CodeConflict) {
				return err
			}
			return nil
		}
		mu.Lock()
		made[snap.ID] = of
		mu.Unlock()
		return nil
	})
	if len(made) < 2 {
		b.t.Errorf("only %d snapshots were made", len(made))
	}
	for id, of := range made {
		f := b.fork(id)
		same(b.t, fmt.Sprint("fork of ", id), f.must(listTree), of.must(listTree))
		b.destroy(f.ID)
	}
	b.destroy(other.ID)
}

func stoppedSandbox(b *sandbox) {
	b.must("echo good > f")
	snap := b.snapshot("good")
	b.must("echo bad > f")
	mustDocker(b.t, "stop", "-t", "1", b.containerOf(string(b.ID)))
	b.rollback(snap.ID)
	if out := b.must("cat f"); out != "good\n" {
		b.t.Errorf("got %q", out)
	}
}

func outlives(s *server) {
	b := s.create()
	b.must("echo kept > f")
	snap := b.snapshot("survivor")
	if err := s.destroy(b.ID); err != nil {
		s.t.Fatal(err)
	}
	s.restart()
	for _, listed := range s.snapshots() {
		if listed.ID == snap.ID {
			if listed.SandboxID != b.ID || listed.Name != "survivor" || listed.SHA256 != snap.SHA256 {
				s.t.Errorf("listed as %+v, was %+v", listed, snap)
			}
			if out := s.fork(snap.ID).must("cat f"); out != "kept\n" {
				s.t.Errorf("got %q", out)
			}
			return
		}
	}
	s.t.Errorf("%s is not listed after the restart", snap.ID)
}

// snapshotLimits: what is too large is refused in whole, and costs no memory.
func snapshotLimits(s *server) {
	small := start(s.t, "--max-snapshot-bytes=1000000")
	b := small.create()
	b.must("head -c 900000 /dev/urandom > f")
	b.snapshot("fits")
	b.must("head -c 200000 /dev/urandom > g")
	used := diskUse(s.t, small.dir)
	err := b.refuse("snapshot", args{"sandbox_id": b.ID}, schemas.CodePayloadTooLarge)
	if err != nil && !strings.Contains(err.Error(), "1000000") {
		s.t.Errorf("the message does not name the limit: %v", err)
	}
	if now := diskUse(s.t, small.dir); now > used+10_000 {
		s.t.Errorf("the data directory grew from %d to %d bytes", used, now)
	}
	if n := len(small.snapshots()); n != 1 {
		s.t.Errorf("%d snapshots are listed", n)
	}
	b.must("rm f")
	b.snapshot("fits again")

	many := s.create()
	n := count(20_000, 300_000)
	many.must(fmt.Sprintf("seq %d | xargs -n 500 touch", n), args{"timeout_seconds": 200})
	flat(s, func() {
		if snap := many.snapshot("many"); snap.Files < int64(n) {
			s.t.Errorf("%d entries of %d", snap.Files, n)
		}
	})
}

// nothingFromImage: an image without shell and tar is no worse.
func nothingFromImage(s *server) {
	b := s.create(args{"image": noShell})
	b.write("dir/file.txt", "content\n")
	snap := b.snapshot("bare")
	b.write("dir/file.txt", "changed\n")
	b.write("added", "x")
	took(s.t, 20*time.Second, "rollback", func() { b.rollback(snap.ID) })
	for _, of := range []*sandbox{b, s.fork(snap.ID)} {
		r := call[schemas.ExecResult](s, "exec", args{"sandbox_id": of.ID, "argv": []string{"cat", "dir/file.txt"}})
		if r.Stdout != "content\n" || len(of.files("/workspace")) != 1 {
			s.t.Errorf("got %q and %v", r.Stdout, of.files("/workspace"))
		}
	}
}
