package manager_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestListSnapshotsOldestFirst(t *testing.T) {
	s := start(t)
	a, b := s.create(), s.create()
	var want, ofA []schemas.SnapshotID
	for range 3 {
		ofA = append(ofA, s.snap(a.ID).ID)
		want = append(want, ofA[len(ofA)-1], s.snap(b.ID).ID)
	}
	if got := s.snapshots(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var paged []schemas.SnapshotID
	page := schemas.Page{Limit: 2}
	for {
		l, err := s.ListSnapshots(t.Context(), owner, a.ID, page)
		if err != nil || len(l.Snapshots) > 2 {
			t.Fatalf("%+v, %v", l, err)
		}
		for _, snap := range l.Snapshots {
			paged = append(paged, snap.ID)
		}
		if page.Cursor = l.NextCursor; page.Cursor == "" {
			break
		}
	}
	if !slices.Equal(paged, ofA) {
		t.Errorf("got %q, want %q", paged, ofA)
	}
	_, err := s.ListSnapshots(t.Context(), owner, "../x", schemas.Page{})
	wantInvalid(t, err, "sandbox_id")
}

// O2, O3: what another owner has is not there, and looks like what never was.
func TestO3SnapshotsOfOthersAreNotThere(t *testing.T) {
	s := start(t)
	b := s.create()
	snap := s.snap(b.ID)
	theirs, err := s.Create(t.Context(), "other", schemas.CreateSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := s.ListSnapshots(t.Context(), "other", b.ID, schemas.Page{}); err != nil || len(l.Snapshots) > 0 || l.Snapshots == nil {
		t.Errorf("the other sees %+v, %v", l, err)
	}
	calls := func(id schemas.SnapshotID) map[string]error {
		_, get := s.GetSnapshot(t.Context(), "other", id)
		_, fork := s.Fork(t.Context(), "other", id, schemas.ForkRequest{})
		_, back := s.Rollback(t.Context(), "other", theirs.ID, schemas.RollbackRequest{SnapshotID: id})
		return map[string]error{"get": get, "fork": fork, "rollback": back, "delete": s.DeleteSnapshot(t.Context(), "other", id)}
	}
	unknown := schemas.NewSnapshotID()
	theirsNever := calls(unknown)
	for call, err := range calls(snap.ID) {
		wantKind(t, err, manager.KindNotFound)
		if got, want := manager.Public(err), manager.Public(theirsNever[call]); strings.ReplaceAll(got.Message, string(snap.ID), string(unknown)) != want.Message || got.Hint != want.Hint {
			t.Errorf("%s: %+v differs from %+v", call, got, want)
		}
	}
	if _, err := s.GetSnapshot(t.Context(), owner, snap.ID); err != nil {
		t.Error(err)
	}
}

// G19: an ID is never a path.
func TestG19SnapshotIDIsNoPath(t *testing.T) {
	s := start(t)
	b := s.create()
	snap := s.snap(b.ID)
	canary := filepath.Join(filepath.Dir(s.cfg.DataDir), "canary.json")
	if err := os.WriteFile(canary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []schemas.SnapshotID{"", ".", "../x", "../../canary", "..%2fx", "/etc/passwd", schemas.SnapshotID(strings.Repeat("a", 300)), snap.ID + ".tar", snap.ID + "\x00", "SNAP_0000000000000000"} {
		_, err := s.GetSnapshot(t.Context(), owner, id)
		wantInvalid(t, err, "snapshot_id")
		_, err = s.rollback(b.ID, id)
		wantInvalid(t, err, "snapshot_id")
		_, err = s.fork(id, schemas.ForkRequest{})
		wantInvalid(t, err, "snapshot_id")
		wantInvalid(t, s.DeleteSnapshot(t.Context(), owner, id), "snapshot_id")
	}
	if _, err := os.Stat(canary); err != nil {
		t.Error(err)
	}
	if len(s.snapFiles()) != 2 {
		t.Errorf("files are %q", s.snapFiles())
	}
}

func TestDeleteSnapshot(t *testing.T) {
	s := start(t)
	snap := s.snap(s.create().ID)
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() { results[i] = s.DeleteSnapshot(t.Context(), owner, snap.ID) })
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else {
			wantKind(t, err, manager.KindNotFound)
		}
	}
	if won != 1 || len(s.snapFiles())+len(s.snapshots()) > 0 {
		t.Errorf("%d deletes won; left are %q", won, s.snapFiles())
	}
}

// I10, G14: snapshots outlive their sandbox and the server.
func TestG14SnapshotOutlivesSandboxAndServer(t *testing.T) {
	s := start(t)
	b := s.create(schemas.CreateSandboxRequest{MemoryMB: ptr[int64](64), Env: map[string]string{"A": "1"}})
	s.mustSh(b.ID, "echo kept > f")
	snap := s.snap(b.ID)
	if err := s.Destroy(t.Context(), owner, b.ID); err != nil {
		t.Fatal(err)
	}
	s.wantNothingLeft()
	s.Close()
	s = restart(t, s)
	l, err := s.ListSnapshots(t.Context(), owner, b.ID, schemas.Page{})
	if err != nil || len(l.Snapshots) != 1 || l.Snapshots[0] != snap {
		t.Fatalf("listed are %+v, %v; want %+v", l, err, snap)
	}
	f := s.mustFork(snap.ID)
	if got := s.mustSh(f.ID, "cat f; echo $A"); got != "kept\n1\n" || f.MemoryMB != 64 || f.Image != b.Image || *f.SourceSnapshotID != snap.ID {
		t.Errorf("got %q, %+v", got, f)
	}
}

// What a killed server leaves half-made is cleared and never shows; what cannot
// be read is set aside and stays.
func TestStartClearsHalfMadeSnapshots(t *testing.T) {
	s := start(t)
	b := s.create()
	good, bad, noTar := s.snap(b.ID), s.snap(b.ID), s.snap(b.ID)
	s.Close()
	half := schemas.NewSnapshotID()
	for name, content := range map[string]string{
		"." + string(half) + ".tar.zst":   "draft",
		string(half) + ".tar.zst":         "tar without a record",
		"." + string(half) + ".json12345": "record of a write cut off",
		string(bad.ID) + ".json":          `{"version":1,"id":"` + string(good.ID) + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(s.snapDir(), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove(s.tarFile(noTar.ID))
	s = restart(t, s)
	if got := s.snapshots(); len(got) != 1 || got[0] != good.ID {
		t.Errorf("listed are %q", got)
	}
	want := []string{
		string(good.ID) + ".json", string(good.ID) + ".tar.zst",
		string(bad.ID) + ".json.corrupt", string(bad.ID) + ".tar.zst", string(noTar.ID) + ".json.corrupt",
	}
	slices.Sort(want)
	if got := s.snapFiles(); !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
	s.mustFork(good.ID)
	s.Close()
	if s = restart(t, s); !slices.Equal(s.snapFiles(), want) {
		t.Errorf("after another start files are %q", s.snapFiles())
	}
}
