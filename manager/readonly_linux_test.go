package manager_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// A disk with errors turns read-only under the server. What would have to be
// written is refused by a type and a clear text, and nothing is left of it; the
// rest works.
func TestDataDirTurnsReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=700"); err != nil {
		skip.OrFail(t, "cannot mount a small file system here: "+err.Error())
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	s := start(t, func(c *manager.Config) { c.DataDir = dir })
	kept := s.create()
	s.mustSh(kept.ID, "echo kept > f")
	snap := s.snap(kept.ID).ID
	remount := func(flags uintptr) { must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|flags, "")) }
	remount(unix.MS_RDONLY)
	ctx := t.Context()
	for what, call := range map[string]func() error{
		"create":          func() error { _, err := s.Create(ctx, owner, schemas.CreateSandboxRequest{}); return err },
		"snapshot":        func() error { _, err := s.Snapshot(ctx, owner, kept.ID, schemas.SnapshotRequest{}); return err },
		"fork":            func() error { _, err := s.fork(snap, schemas.ForkRequest{}); return err },
		"rollback":        func() error { _, err := s.rollback(kept.ID, snap); return err },
		"set timeout":     func() error { return s.renew(kept.ID, 5) },
		"delete snapshot": func() error { return s.DeleteSnapshot(ctx, owner, snap) },
	} {
		if e := wantKind(t, call(), manager.KindNoSpace); !strings.Contains(e.Message, "cannot write") || e.Hint == "" || strings.Contains(e.Message+e.Hint, dir) {
			t.Errorf("%s: error is %+v", what, e)
		}
	}
	if got := s.mustSh(kept.ID, "cat f"); got != "kept\n" || len(s.fake.Containers()) != 1 || len(s.snapshots()) != 1 {
		t.Errorf("f holds %q; there are %q and %q", got, s.fake.Containers(), s.snapshots())
	}
	s.Close()
	if _, err := manager.New(s.cfg, s.fake); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a start on it: %v", err)
	}
	remount(0)
	s = restart(t, s)
	s.mustFork(snap)
}
