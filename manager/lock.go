package manager

import "context"

// lock is a mutex for what takes time, such as a call to the backend: who waits
// for it can give up.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// lock fails, with the cause, when ctx ends first.
func (l lock) lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l lock) unlock() { <-l }
