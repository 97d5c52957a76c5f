package e2e

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var (
	//go:embed testdata/tree.py
	makeTree string
	//go:embed testdata/fingerprint.py
	fingerprint string
)

// python runs a script in a sandbox of the base image.
func (b *sandbox) python(script string) string {
	b.t.Helper()
	r := call[schemas.ExecResult](b.server, "exec", args{
		"sandbox_id": b.ID, "argv": []string{"python3", "-c", script}, "max_output_bytes": 200_000, "timeout_seconds": 300,
	})
	if r.ExitCode != 0 || r.Truncated {
		b.t.Fatalf("python: exit code %d, truncated %t: %s", r.ExitCode, r.Truncated, r.Stderr)
	}
	return r.Stdout
}

// same compares two fingerprints line by line.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	has := map[string]bool{}
	for line := range strings.Lines(got) {
		has[line] = true
	}
	for line := range strings.Lines(want) {
		if !has[line] {
			t.Errorf("%s: missing %s", what, line)
		}
		delete(has, line)
	}
	for line := range has {
		t.Errorf("%s: unexpected %s", what, line)
	}
}

// TestFidelity is G1, G5, G6, G7, G11: a tree with one of everything comes back
// exactly, in the same sandbox and in a fork.
func TestFidelity(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.create(args{"image": base})
	b.python(makeTree)
	want := b.python(fingerprint)
	snap := b.snapshot("tree")
	if now := b.python(fingerprint); now != want {
		same(t, "after the snapshot", now, want)
	}
	t.Run("G1 G5 G6 G7 G11 rollback", func(t *testing.T) {
		b := b.in(t)
		b.must("echo changed > added; rm -rf links names; chmod -R u+w ro; echo changed > ro/sub/f")
		b.rollback(snap.ID)
		same(t, "rollback", b.python(fingerprint), want)
	})
	t.Run("G1 G5 G6 G7 G11 fork", func(t *testing.T) {
		f := s.in(t).fork(snap.ID)
		same(t, "fork", f.python(fingerprint), want)
		if f.Image != b.Image || f.ID == b.ID || f.SourceSnapshotID == nil || *f.SourceSnapshotID != snap.ID {
			t.Errorf("the fork is %+v", f.Sandbox)
		}
		if err := s.destroy(f.ID); err != nil {
			t.Error(err)
		}
	})
	t.Run("G6 setuid and setgid are dropped", func(t *testing.T) {
		b := b.in(t)
		b.must("touch suid && chmod 6755 suid && mkdir sgid && chmod 2755 sgid")
		b.rollback(b.snapshot("suid").ID)
		if out := b.must("stat -c %a suid sgid"); out != "755\n755\n" {
			t.Errorf("modes are %q", out)
		}
	})
	t.Run("G7 make has nothing to do", func(t *testing.T) {
		b := b.in(t)
		b.must(`mkdir mk && cd mk && printf 'out: in\n\tcp in out\n' > Makefile && echo x > in && make`)
		b.rollback(b.snapshot("made").ID)
		if out := b.must("make -C mk"); !strings.Contains(out, "up to date") {
			t.Errorf("make says %q", out)
		}
	})
}

// TestSnapshots: what a snapshot is, and what it survives.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s.create(), []testCase[*sandbox]{
		{"G3 rollback is no overlay", noOverlay},
		{"G8 sparse files", sparseFiles},
		{"G9 files that grow and shrink", movingFiles},
		{"G10 files that come and go", comingAndGoing},
		{"G13 cycles", cycles},
		{"G15 deleting a snapshot", deletedSnapshot},
		{"G17 a damaged snapshot", damagedSnapshot},
		{"G19 IDs are no paths", idsAreNoPaths},
		{"G20 in parallel", parallelSnapshots},
		{"G21 of a stopped sandbox", stoppedSandbox},
	})
	runCases(t, s, []testCase[*server]{
		{"G14 outlives sandbox and server", outlives},
		{"G16 limits", snapshotLimits},
		{"G22 needs nothing from the image", nothingFromImage},
	})
}

const listTree = `find . -mindepth 1 | sort | while IFS= read -r f; do stat -c '%n %a %s %F' "$f" | sed 's/ [0-9]* directory/ directory/'; [ -f "$f" ] && md5sum < "$f"; done; true`

func noOverlay(b *sandbox) {
	b.must("mkdir d d2 empty; echo 1 > f; echo 2 > d/g; echo 3 > .hidden; echo 4 > swap; mkdir dir; echo 5 > dir/h")
	want := b.must(listTree)
	snap := b.snapshot("before")
	b.must(`echo new > added; echo changed > f; rm d/g .hidden; mv d2 renamed; rm swap; mkdir swap; rm -r dir; echo f > dir
		mkdir -p .h/i "$(printf 'odd\nname')"; rmdir empty; chmod 700 d`)
	b.rollback(snap.ID)
	same(b.t, "rollback", b.must(listTree), want)
}

func sparseFiles(b *sandbox) {
	b.must("truncate -s 20G sparse; printf end >> sparse")
	var snap schemas.Snapshot
	took(b.t, 30*time.Second, "a snapshot of a sparse file of 20 GiB", func() {
		err := b.Call(ctx(b.t), "snapshot", args{"sandbox_id": b.ID}, &snap)
		if err != nil && client.Code(err) != string(schemas.CodePayloadTooLarge) {
			b.t.Errorf("got %v", err)
		}
	})
	if used := diskUse(b.t, b.dir); used > 64<<20 {
		b.t.Errorf("the data directory has %d MiB", used>>20)
	}
	b.must("rm sparse")
}

func diskUse(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.Walk(dir, func(_ string, f os.FileInfo, err error) error {
		if err == nil && f.Mode().IsRegular() {
			sum += f.Size()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return sum
}

func movingFiles(b *sandbox) {
	b.must(`(while :; do head -c 200000 /dev/zero >> log; [ $(wc -c < log) -gt 5000000 ] && : > log; done) >/dev/null 2>&1 &
		(while :; do : > t; head -c 300000 /dev/zero > t; done) >/dev/null 2>&1 & echo steady > steady`)
	for range count(3, 20) {
		snap := b.snapshot("moving")
		f := b.fork(snap.ID)
		if out := f.must("cat steady; ls"); !strings.HasPrefix(out, "steady\n") {
			b.t.Errorf("got %q", out)
		}
		if err := b.destroy(f.ID); err != nil {
			b.t.Error(err)
		}
	}
	// They were paused, and went on.
	before := b.must("date +%s%N; wc -c < log; ls -l --full-time t log 2>/dev/null || ls -l t log")
	eventually(b.t, 10*time.Second, "the writers go on", func() (bool, any) {
		now := b.must("wc -c < log; sleep 0.1; wc -c < log")
		sizes := strings.Fields(now)
		return sizes[0] != sizes[1], fmt.Sprint(before, now)
	})
	b.sh("kill -9 -1")
	b.must("rm -f log t")
}

func comingAndGoing(b *sandbox) {
	b.must(`mkdir -p busy && seq 50 | xargs -I{} sh -c 'echo {} > keep-{}'
		(while :; do for i in 1 2 3 4 5 6 7 8 9; do echo x > busy/$i; done; rm -f busy/*; done) >/dev/null 2>&1 &`)
	for range count(3, 20) {
		snap := b.snapshot("busy")
		if snap.Files < 51 {
			b.t.Errorf("the snapshot has %d entries", snap.Files)
		}
	}
	b.sh("kill -9 -1")
	b.rollback(b.snapshot("last").ID)
	if out := b.must("ls keep-* | wc -l"); strings.TrimSpace(out) != "50" {
		b.t.Errorf("%s files were kept", out)
	}
	b.must("rm -r keep-* busy")
}

func cycles(b *sandbox) {
	b.must("rm -rf ./* ./.[!.]*")
	var snaps []schemas.Snapshot
	for i := range 5 {
		b.must(fmt.Sprintf("echo %d > n%d", i+1, i+1))
		snaps = append(snaps, b.snapshot(""))
		b.rollback(snaps[i].ID)
	}
	for _, i := range []int{1, 3, 5} {
		b.rollback(snaps[i-1].ID)
		if out, want := b.must("cat n*"), lines(i); out != want {
			b.t.Errorf("after cycle %d: %q, want %q", i, out, want)
		}
	}
	if p := b.snapshot("child").ParentID; p == nil || *p != snaps[4].ID {
		b.t.Errorf("the parent of the next snapshot is %v, want %s", p, snaps[4].ID)
	}
}
