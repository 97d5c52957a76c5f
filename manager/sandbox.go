package manager

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// sandbox is one sandbox in memory.
type sandbox struct {
	id   schemas.SandboxID
	gate gate

	// forge is held while something of this sandbox is made
	// or removed in the backend, so that the two never meet.
	forge lock

	// telling is held while the guest is told of the record, so that what it is
	// told last is the latest.
	telling lock
	untold  atomic.Bool // a guest did not take what it was told last

	// changing orders changes of the record, each of which is a write to disk.
	// It is taken before mu, and mu is never held across I/O.
	changing sync.Mutex

	mu     sync.Mutex
	rec    record // as last written
	link   *link  // to the current incarnation
	status schemas.Status
	looked time.Time // when status was last found out
	expiry *time.Timer
	execs  int // running now

	tended atomic.Bool // somebody is at it in the background

	slot bool // it has one of the MaxSandboxes; guarded by Manager.mu
}

func newSandbox(r record) *sandbox {
	s := &sandbox{id: r.ID, forge: newLock(), telling: newLock(), status: schemas.StatusStopped}
	s.rec = r
	s.link = newLink(r.Current, r.Spec)
	return s
}

// record is a copy of the record as last written.
func (s *sandbox) record() record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rec
}

func (s *sandbox) currentLink() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// view is the sandbox as its owner sees it.
func (s *sandbox) view() schemas.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rec
	return schemas.Sandbox{
		ID: r.ID, Name: r.Name, Status: s.status,
		Image: r.Spec.Image, CPUs: r.Spec.CPUs, MemoryMB: r.Spec.MemoryMB, PidsLimit: r.Spec.PidsLimit,
		Network: r.Spec.Network, ReadOnlyRootfs: r.Spec.ReadOnlyRootfs,
		CreatedAt: r.CreatedAt.UTC(), ExpiresAt: r.ExpiresAt.UTC(), SourceSnapshotID: r.Parent,
	}
}

// change edits the record, writes it, and only then makes it true in memory.
// edit sees the latest state and refuses by an error: that is how exactly one
// of two racing operations wins. It must replace, not write through, what the
// record points at. What is to be destroyed is changed no more: by now its
// record may be erased, and writing it would bring that back.
func (m *Manager) change(s *sandbox, edit func(*record) error) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	r := s.record()
	condemned := r.State == stateDestroying
	if err := edit(&r); err != nil {
		return err
	}
	if condemned {
		return gone(r.Reason)
	}
	if err := m.store.save(r); err != nil {
		return err
	}
	m.install(s, r)
	return nil
}

// rename puts a ref, of which nothing was made, to another one in its record.
// It is not written at once: until the next change is, a crash leaves what the
// new one names without a record, to be removed like everything that has none.
func (m *Manager) rename(s *sandbox, from, to Ref) {
	s.changing.Lock()
	defer s.changing.Unlock()
	r := s.record()
	if r.Current.Ref == from {
		r.Current.Ref = to
	}
	if r.Next != nil && r.Next.Ref == from {
		next := *r.Next
		next.Ref = to
		r.Next = &next
	}
	m.install(s, r)
}

// condemn is change for the one edit that must not fail: what is to be
// destroyed is, even when the disk is too full to write that down first; then
// only this server knows. From here on the sandbox takes no slot, and nobody
// gets into it.
func (m *Manager) condemn(s *sandbox, reason string, due func(record) bool) (condemned, written bool) {
	s.changing.Lock()
	defer s.changing.Unlock()
	r := s.record()
	if r.State == stateDestroying || !due(r) {
		return false, false
	}
	r.State, r.Reason = stateDestroying, reason
	err := m.store.save(r)
	if err != nil {
		m.log.Error("record that a sandbox is to be destroyed", "sandbox", s.id, "error", err)
	}
	m.install(s, r)
	m.freeSlot(s)
	s.gate.close(notFound(s.id), gone(reason))
	return true, err == nil
}

func (m *Manager) install(s *sandbox, r record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec = r
	m.armLocked(s)
}
