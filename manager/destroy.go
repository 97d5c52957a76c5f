package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Destroy ends a sandbox, whatever it is doing, and returns as soon as that is
// recorded: nobody finds it any more, no call is let in, and what it has in the
// backend is removed in the background, by the next server if this one dies, and
// again and again while the backend does not let it. The caller waits for the
// removal only when the record could not be written, or when very many are due.
func (m *Manager) Destroy(ctx context.Context, o Owner, id schemas.SandboxID) (err error) {
	defer m.observe("destroy", time.Now(), &err)
	s, err := m.find(o, id)
	if err != nil {
		return err
	}
	if err := m.enlist(); err != nil {
		return err
	}
	defer m.tasks.Done()
	condemned, written := m.condemn(s, ReasonDestroyed, func(r record) bool { return r.live(m.now()) })
	if !condemned {
		return notFound(id)
	}
	faults.Point("destroy.condemned")
	m.log.Info("destroying sandbox", "sandbox", id)
	done := make(chan error, 1)
	spawned := m.spawn(func() { done <- m.finish(context.WithoutCancel(ctx), s) })
	if written && (!spawned || !m.crowded()) {
		return nil
	}
	if !spawned {
		return closing()
	}
	select {
	case err := <-done:
		if written {
			return nil // the reaper tries again
		}
		return unfinished(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// unfinished tells the caller of a Destroy that is neither recorded nor done.
func unfinished(err error) error {
	if err == nil {
		return nil
	}
	return &Error{
		Kind: KindUnavailable, Retryable: true, Cause: err,
		Message: "the sandbox is given up, but its container and volume could not be removed yet",
		Hint:    "Nothing needs to be done: the server removes them as soon as its backend lets it.",
	}
}

// maxRemovals is how many condemned sandboxes are removed at a time: a daemon
// gets slower, not faster, with more. One that hangs must not stop the others.
const maxRemovals = 8

// turnOutTime is how long finish waits for the calls that it has cancelled.
const turnOutTime = 5 * time.Second

// finish removes all there is of a condemned sandbox, its record last. After an
// error the record is still there, and the reaper tries again.
func (m *Manager) finish(ctx context.Context, s *sandbox) error {
	ctx, cancel := m.outlive(ctx)
	defer cancel()
	m.turnOut(ctx, s)
	if err := s.forge.lock(ctx); err != nil {
		return fmt.Errorf("wait for what is being made: %w", err)
	}
	defer s.forge.unlock()
	if !m.knows(s) {
		return nil // somebody else was faster
	}
	faults.Point("destroy.emptied")
	if err := m.removeAll(ctx, s); err != nil {
		m.noteBackend(err)
		m.event(EventRemovalFailed)
		m.log.Warn("remove sandbox; trying again later", "sandbox", s.id, "error", err)
		return fmt.Errorf("remove sandbox: %w", err)
	}
	return m.erase(s)
}

// removeAll removes what a condemned sandbox has in the backend.
func (m *Manager) removeAll(ctx context.Context, s *sandbox) error {
	if err := m.removing.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for other removals: %w", err)
	}
	defer m.removing.Release(1)
	r := s.record()
	for _, ref := range r.refs() {
		if err := m.backend.Remove(ctx, ref); err != nil {
			return err
		}
		faults.Point("destroy.removed")
	}
	return nil
}

// turnOut ends every call inside a condemned sandbox and its connection. One
// that does not go in time loses its container under it.
func (m *Manager) turnOut(ctx context.Context, s *sandbox) {
	ctx, cancel := context.WithTimeout(ctx, turnOutTime)
	defer cancel()
	inside := s.gate.close(notFound(s.id), gone(s.record().Reason))
	if err := awaitLeft(ctx, inside); err != nil {
		m.log.Warn("calls do not leave a sandbox that is being destroyed", "sandbox", s.id)
	}
	s.currentLink().retire(ctx)
}

// erase drops a sandbox of which the backend has nothing left.
func (m *Manager) erase(s *sandbox) error {
	if err := m.store.remove(s.id); err != nil {
		m.log.Error("erase record; trying again later", "sandbox", s.id, "error", err)
		return err
	}
	faults.Point("destroy.unrecorded")
	m.forget(s)
	m.log.Info("sandbox is gone", "sandbox", s.id, "reason", s.record().Reason)
	return nil
}

// finishLater runs finish in the background, where it has already failed once
// or where nobody waits for it.
func (m *Manager) finishLater(s *sandbox) {
	m.spawn(func() { _ = m.finish(context.Background(), s) }) // logs by itself
}
