package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// model is what the clients of a server know, and so what must hold whatever
// happens to it: what was acknowledged is so; what was asked for and never
// answered is so or is not; and there is nothing else. Its calls keep it up to
// date, and checkInvariants holds the server against it.
//
// Calls may be made at once; a check wants none under way.
type model struct {
	s       *server
	mayFail bool // Docker is in trouble too: calls may say so, and a sandbox may be failed

	mu        sync.Mutex
	sandboxes map[schemas.SandboxID]*modelSandbox
	snapshots map[schemas.SnapshotID]*modelSnapshot
	making    map[*making]bool // calls for sandboxes that have no answer
	saving    map[*saving]bool // and for snapshots
	ids       map[string]bool  // of all sandboxes that ever were
	damaged   map[schemas.SnapshotID]bool
	numbers   int // given out so far, of sandboxes, snapshots and names
	calls     int
}

func newModel(s *server) *model {
	return &model{
		s: s, sandboxes: map[schemas.SandboxID]*modelSandbox{}, snapshots: map[schemas.SnapshotID]*modelSnapshot{},
		making: map[*making]bool{}, saving: map[*saving]bool{}, ids: map[string]bool{}, damaged: map[schemas.SnapshotID]bool{},
	}
}

// modelSandbox is one sandbox that a client knows of.
type modelSandbox struct {
	ID       schemas.SandboxID
	number   int        // in the order in which clients learnt of them
	changing sync.Mutex // one change of its files at a time
	renewing sync.Mutex // one new expiry at a time: answers do not tell which came last

	states   []state // any one of these is right
	expires  []span  // likewise
	mayGo    bool    // or it is gone
	destroys int     // begun
}

// modelSnapshot is one snapshot that a client knows of.
type modelSnapshot struct {
	ID      schemas.SnapshotID
	number  int
	answer  *schemas.Snapshot // as it was last seen: it never changes
	files   []files           // any one of these is in it
	mayGo   bool              // or it is gone
	deletes int               // begun
}

// making is a call that makes sandboxes.
type making struct {
	count   int
	states  []state
	expires span
}

// saving is a call that makes a snapshot.
type saving struct {
	of    schemas.SandboxID
	files []files
}

// state is a way a sandbox may be.
type state struct {
	files files
	from  schemas.SnapshotID // "" for none, anySnapshot when it is not known which
}

const anySnapshot schemas.SnapshotID = "any"

func (s state) isFrom(snap *schemas.SnapshotID) bool {
	if snap == nil {
		return s.from == ""
	}
	return s.from == anySnapshot || s.from == *snap
}

// filesOf are those of several states.
func filesOf(states []state) (all []files) {
	for _, s := range states {
		all = append(all, s.files)
	}
	return all
}

// files is a workspace without directories: from name to checksum, in hex.
type files map[string]string

func (f files) with(name, content string) files { return f.withSum(name, sumOf(content)) }

func (f files) withSum(name, sum string) files {
	f = maps.Clone(f)
	f[name] = sum
	return f
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// parseSums reads what sha256sum prints.
func parseSums(text string) files {
	f := files{}
	for line := range strings.Lines(text) {
		if sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); found {
			f[name] = sum
		}
	}
	return f
}

func (f files) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%s:%.6s ", name, f[name])
	}
	return "[" + strings.TrimSpace(b.String()) + "]"
}

// span is when something happens, as far as is known.
type span struct{ from, to time.Time }

func (s span) has(t time.Time) bool { return !t.Before(s.from) && !t.After(s.to) }

// until is when a sandbox goes that was given its time between two moments.
func until(began, ended time.Time, ttl time.Duration) span {
	return span{began.Add(ttl), ended.Add(ttl)}
}

// expired tells whether a sandbox may, and whether it must be gone by now.
func (b *modelSandbox) expired(now time.Time) (may, must bool) {
	must = len(b.expires) > 0
	for _, e := range b.expires {
		may = may || !now.Before(e.from)
		must = must && now.After(e.to)
	}
	return may, must
}

// mayBeGone tells whether it is right not to find a sandbox.
func (m *model) mayBeGone(b *modelSandbox) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	may, _ := b.expired(time.Now())
	return may || b.mayGo
}

// newName is a name that no file has had.
func (m *model) newName() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprint("n", m.next())
}

// next is the next number. m.mu is held.
func (m *model) next() int {
	m.numbers++
	return m.numbers
}
