package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// settle compares what is listed with what is known. What was open is from here
// on as it was found.
func (m *model) settle(t *testing.T, sandboxes []schemas.Sandbox, snapshots []schemas.Snapshot) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	snaps := map[schemas.SnapshotID]bool{}
	for _, snap := range snapshots {
		snaps[snap.ID] = true
		m.settleSnapshot(t, snap)
	}
	for id, known := range m.snapshots {
		if !snaps[id] && !known.mayGo {
			t.Errorf("snapshot %s is lost", id)
		}
		if known.mayGo = false; !snaps[id] {
			delete(m.snapshots, id)
		}
	}
	unheard := 0 // sandboxes at most that were made and that nobody was told of
	for makes := range m.making {
		unheard += makes.count
	}
	listed := map[schemas.SandboxID]bool{}
	for _, b := range sandboxes {
		listed[b.ID] = true
		if m.sandboxes[b.ID] == nil {
			m.settleMade(b)
			unheard--
		}
		m.settleSandbox(t, b)
	}
	if unheard < 0 {
		t.Errorf("%d more sandboxes are listed than were asked for: %+v", -unheard, sandboxes)
	}
	for id, known := range m.sandboxes {
		if may, _ := known.expired(time.Now()); !listed[id] && !known.mayGo && !may {
			t.Errorf("%s is lost, which is %v and expires in %v\n%s", id, known.states, known.expires, tail(m.s.Log()))
		}
		if known.mayGo = false; !listed[id] {
			delete(m.sandboxes, id)
		}
	}
	clear(m.making)
	clear(m.saving)
}

// settleMade takes in a sandbox that nobody was told of. Several calls without an
// answer may have made it, so it may be as any of them says.
func (m *model) settleMade(b schemas.Sandbox) {
	m.s.t.Helper()
	made := &making{expires: span{b.ExpiresAt, b.ExpiresAt}}
	for makes := range m.making {
		if makes.expires.has(b.ExpiresAt) {
			made.states = append(made.states, makes.states...)
		}
	}
	m.adopt(b, made)
}

func (m *model) settleSandbox(t *testing.T, b schemas.Sandbox) {
	t.Helper()
	known := m.sandboxes[b.ID]
	if !slices.ContainsFunc(known.expires, func(e span) bool { return e.has(b.ExpiresAt) }) {
		t.Errorf("%s expires at %v, should in one of %v", b.ID, b.ExpiresAt, known.expires)
	}
	known.expires = []span{{b.ExpiresAt, b.ExpiresAt}}
}

func (m *model) settleSnapshot(t *testing.T, snap schemas.Snapshot) {
	t.Helper()
	known := m.snapshots[snap.ID]
	if known == nil {
		known = &modelSnapshot{ID: snap.ID, number: m.next()}
		m.snapshots[snap.ID] = known
		for saves := range m.saving {
			if saves.of == snap.SandboxID {
				known.files = append(known.files, saves.files...)
			}
		}
		if known.files == nil {
			t.Errorf("%+v is listed, and nobody asked for it", snap)
		}
	}
	if known.answer != nil && !cmp.Equal(*known.answer, snap) {
		t.Errorf("a snapshot has changed: %s", cmp.Diff(*known.answer, snap))
	}
	known.answer = &snap
}

// settleSnapshotFiles compares what a snapshot holds with what it may hold.
func (m *model) settleSnapshotFiles(t *testing.T, snap schemas.Snapshot, found files) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.snapshots[snap.ID]
	if !slices.ContainsFunc(known.files, func(f files) bool { return cmp.Equal(f, found) }) {
		t.Errorf("snapshot %s holds %v, should be one of %v", snap.ID, found, known.files)
	}
	known.files = []files{found}
}

// settleFiles compares what a sandbox holds with what it may hold.
func (m *model) settleFiles(b *sandbox, content files) {
	b.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.sandboxes[b.ID]
	if known == nil {
		return
	}
	found := state{files: content}
	if b.SourceSnapshotID != nil {
		found.from = *b.SourceSnapshotID
	}
	if !slices.ContainsFunc(known.states, func(s state) bool { return s.isFrom(b.SourceSnapshotID) && cmp.Equal(s.files, content) }) {
		b.t.Errorf("%s is %v, should be one of %v", b.ID, found, known.states)
	}
	known.states = []state{found}
}

// mustBeGone tells whether a sandbox has expired so long ago that a server at
// rest does not list it.
func (m *model) mustBeGone(id schemas.SandboxID, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.sandboxes[id]
	if known == nil {
		return false
	}
	_, must := known.expired(now)
	return must
}

// named tells whether something in Docker has a name as those of this model's
// sandboxes have.
func (m *model) named(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, found := strings.CutPrefix(name, "agent-sandbox-")
	id, _, _ := strings.Cut(name, "-")
	return found && m.ids[id]
}

// without is all but what drop says.
func without[T any](all []T, drop func(T) bool) (rest []T) {
	for _, one := range all {
		if !drop(one) {
			rest = append(rest, one)
		}
	}
	return rest
}

// note remembers the sandboxes that a server which has died was making.
func (m *model) note() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, file := range dataFiles(m.s.t, m.s.dir) {
		if id, found := strings.CutPrefix(strings.TrimSuffix(file, ".json"), "sandboxes/"); found {
			m.ids[id] = true
		}
	}
}

// TestModelOfUnheardSandboxes: which of several calls made a sandbox is not known
// when none has an answer, and so it may be as any of them says.
func TestModelOfUnheardSandboxes(t *testing.T) {
	origin := schemas.SnapshotID("snap_1")
	for range 50 { // maps have no order
		m := newModel(&server{t: t})
		expires := span{time.Now(), time.Now().Add(time.Hour)}
		m.making[&making{1, []state{{files{}.with("a", "of a sandbox"), anySnapshot}}, expires}] = true
		m.making[&making{1, []state{{files{}.with("a", "of a snapshot"), origin}}, expires}] = true
		m.making[&making{1, []state{{files: files{}}}, expires}] = true
		b := schemas.Sandbox{ID: "sb_1", ExpiresAt: time.Now().Add(time.Minute), SourceSnapshotID: &origin}
		m.settle(t, []schemas.Sandbox{b}, []schemas.Snapshot{})
		if states := m.sandboxes[b.ID].states; len(states) != 2 {
			t.Fatalf("it may be one of %v, want what either fork says", states)
		}
	}
}
