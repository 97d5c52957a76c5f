package manager

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// recordVersion is the shape of record that this build writes and reads.
const recordVersion = 1

// record is what is kept on disk of one sandbox. It states intent before the
// act, so that after a crash at any instruction [recovered] can tell what was
// going on. Values are copied freely: whoever edits one replaces slices, maps
// and pointers and never writes through them.
type record struct {
	Version   int               `json:"version"`
	Instance  string            `json:"instance,omitempty"` // of the server that wrote it
	ID        schemas.SandboxID `json:"id"`
	Owner     Owner             `json:"owner"`
	Name      string            `json:"name,omitempty"`
	State     recordState       `json:"state"`
	Reason    string            `json:"reason,omitempty"` // of destroying: destroyed or expired
	Spec      Spec              `json:"spec"`
	CreatedAt time.Time         `json:"created_at"`
	lifetime
	Parent *schemas.SnapshotID `json:"parent,omitempty"` // it came from, or was last rolled back to

	// Made counts incarnations ever begun, so that no name is used twice.
	Made    int          `json:"made"`
	Current incarnation  `json:"current"`
	Next    *incarnation `json:"next,omitempty"`  // while rolling back
	Stale   []Ref        `json:"stale,omitempty"` // replaced or given up, still to be removed
}

// recordState is what is meant to become of a sandbox.
type recordState string

const (
	stateCreating    recordState = "creating"     // Current may exist in part
	stateRunning     recordState = "running"      // Current is complete
	stateRollingBack recordState = "rolling_back" // Current is complete, Next may exist in part
	stateDestroying  recordState = "destroying"   // all of it goes
)

// incarnation is one container with its volume, and the image it was made from.
type incarnation struct {
	Ref   Ref   `json:"ref"`
	Image Image `json:"image"`
}

// begin names a new incarnation of r.
func (r *record) begin() incarnation {
	r.Made++
	name := incarnationName(r.ID, r.Made)
	return incarnation{Ref: Ref{Container: name, Volume: name, Key: newKey()}}
}

func incarnationName(id schemas.SandboxID, made int) string {
	return fmt.Sprintf("agent-sandbox-%s-%d", id, made)
}

func newKey() string {
	key := make([]byte, 32)
	rand.Read(key) // never fails: crypto/rand
	return hex.EncodeToString(key)
}

// refs is everything in the backend that belongs to r.
func (r *record) refs() []Ref {
	refs := append([]Ref{r.Current.Ref}, r.Stale...)
	if r.Next != nil {
		refs = append(refs, r.Next.Ref)
	}
	return refs
}

// live tells whether clients may know of r: a sandbox is gone for them from its
// expiry on, however long its removal takes.
func (r *record) live(now Instant) bool {
	return (r.State == stateRunning || r.State == stateRollingBack) && !r.expired(now)
}

// check tells what makes a record that was read from disk unusable.
func (r *record) check() error {
	if r.Version != recordVersion {
		return fmt.Errorf("version is %d, this server reads %d", r.Version, recordVersion)
	}
	if _, err := schemas.ParseSandboxID(string(r.ID)); err != nil {
		return err
	}
	switch r.State {
	case stateCreating, stateRunning, stateRollingBack, stateDestroying:
	default:
		return fmt.Errorf("state %q is unknown", r.State)
	}
	if r.Owner == "" || r.Spec.Image == "" || r.Spec.CPUs <= 0 || r.Spec.MemoryMB <= 0 || r.Spec.PidsLimit <= 0 {
		return fmt.Errorf("owner, image or a limit is missing")
	}
	for _, ref := range r.refs() {
		for _, name := range []string{ref.Container, ref.Volume} {
			if _, ours := r.number(name); !ours {
				return fmt.Errorf("%.100q is no name of what belongs to it", name)
			}
		}
		if key, err := hex.DecodeString(ref.Key); err != nil || len(key) != 32 {
			return fmt.Errorf("a key is missing or damaged")
		}
	}
	return nil
}

var refName = regexp.MustCompile(`^agent-sandbox-(?:(sb_[0-9a-f]{16})-([0-9]{1,9})|spare-[0-9a-f]{16})$`)

// number reads a name that [record.begin] has given; ours is false for one that
// r never had, which may be another's or no name at all.
func (r *record) number(name string) (n int, ours bool) {
	part := refName.FindStringSubmatch(name)
	if part == nil || part[1] != "" && part[1] != string(r.ID) {
		return 0, false
	}
	n, _ = strconv.Atoi(part[2]) // none of a spare
	return n, true
}

// recovered is what to make of a record that an earlier server left: what it
// had begun to make is given up, what it had begun to destroy is destroyed.
func recovered(r record) record {
	for _, ref := range r.refs() {
		n, _ := r.number(ref.Container)
		r.Made = max(r.Made, n)
	}
	switch r.State {
	case stateCreating:
		r.State, r.Reason = stateDestroying, ReasonDestroyed
	case stateRollingBack:
		r.State = stateRunning
		r.giveUpNext()
	}
	return r
}

// giveUpNext marks what a rollback has begun to make for removal.
func (r *record) giveUpNext() {
	if r.Next != nil {
		r.Stale = append(append([]Ref(nil), r.Stale...), r.Next.Ref)
		r.Next = nil
	}
}
