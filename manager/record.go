package manager

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
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
	Version   int                 `json:"version"`
	ID        schemas.SandboxID   `json:"id"`
	Owner     Owner               `json:"owner"`
	Name      string              `json:"name,omitempty"`
	State     recordState         `json:"state"`
	Reason    string              `json:"reason,omitempty"` // of destroying: destroyed or expired
	Spec      Spec                `json:"spec"`
	CreatedAt time.Time           `json:"created_at"`
	ExpiresAt time.Time           `json:"expires_at"`
	Parent    *schemas.SnapshotID `json:"parent,omitempty"` // it came from, or was last rolled back to

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
func (r *record) live(now time.Time) bool {
	return (r.State == stateRunning || r.State == stateRollingBack) && now.Before(r.ExpiresAt)
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
	for _, ref := range r.refs() {
		if ref.Container == "" || ref.Volume == "" || ref.Key == "" {
			return fmt.Errorf("a name or key is missing")
		}
	}
	return nil
}

// recovered is what to make of a record that an earlier server left: what it
// had begun to make is given up, what it had begun to destroy is destroyed.
func recovered(r record) record {
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
