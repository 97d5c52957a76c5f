package tools

import "sync"

// pathLocks keeps edits of one file apart: models send edits in parallel, and an
// edit that read the file before another one's write would undo it. The zero
// value is ready for use.
type pathLocks struct {
	mu    sync.Mutex
	locks map[string]*pathLock
}

type pathLock struct {
	sync.Mutex
	users int
}

// lock returns the unlock.
func (p *pathLocks) lock(key string) func() {
	p.mu.Lock()
	if p.locks == nil {
		p.locks = map[string]*pathLock{}
	}
	l := p.locks[key]
	if l == nil {
		l = &pathLock{}
		p.locks[key] = l
	}
	l.users++
	p.mu.Unlock()

	l.Lock()
	return func() {
		l.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(p.locks, key)
		}
	}
}
