package manager

import (
	"context"
	"time"
)

// spawn runs f in the background, where Close waits for it. After Close has
// begun nothing new is started, and it returns false.
func (m *Manager) spawn(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.tasks.Go(f)
	return true
}

// enlist makes the caller's own goroutine one that Close waits for, until it
// calls m.tasks.Done. Whoever writes into the data directory, and is not inside
// a sandbox, must: after Close the next server has it.
func (m *Manager) enlist() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return closing()
	}
	m.tasks.Add(1)
	return nil
}

// untilClose is ctx for an operation that no gate turns out when Close begins:
// Close ends it, and waits until done is called.
func (m *Manager) untilClose(ctx context.Context) (_ context.Context, done func(), err error) {
	if err := m.enlist(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(m.ctx, func() { cancel(closing()) })
	return ctx, func() { stop(); cancel(nil); m.tasks.Done() }, nil
}

func (m *Manager) awaitTasks(limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		m.tasks.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

const (
	// cleanupTime bounds the removal of what an operation has made.
	cleanupTime = time.Minute
	// closingCleanupTime bounds it once Close has begun; the next start
	// finishes the rest.
	closingCleanupTime = 1500 * time.Millisecond
)

// outlive is a context for clean-up: it goes on when the caller has gone away,
// and ends soon after Close has begun.
func (m *Manager) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	stop := context.AfterFunc(m.ctx, func() {
		select {
		case <-ctx.Done():
		case <-time.After(closingCleanupTime):
			cancel()
		}
	})
	return ctx, func() { stop(); cancel() }
}
