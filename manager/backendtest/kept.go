package backendtest

import (
	"context"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// keptBytes is how much of each stream a background exec keeps.
const keptBytes = 1 << 20

// kept is what a background exec has written and how it ended, for any number
// of readers.
type kept struct {
	mu        sync.Mutex
	stdout    tail
	stderr    tail
	over      bool
	exit      manager.Exit
	followers map[*follower]bool
	changed   chan struct{} // closed, and replaced, at each change
}

// tail is the end of one stream.
type tail struct {
	bytes []byte
	total int64
}

// follower is a reader that the command waits for.
type follower struct{ stdout, stderr int64 }

func newKept() *kept { return &kept{changed: make(chan struct{}), followers: map[*follower]bool{}} }

func (k *kept) of(s schemas.Stream) *tail {
	if s == schemas.Stderr {
		return &k.stderr
	}
	return &k.stdout
}

func (f *follower) of(s schemas.Stream) *int64 {
	if s == schemas.Stderr {
		return &f.stderr
	}
	return &f.stdout
}

func (t *tail) start() int64 { return t.total - int64(len(t.bytes)) }

func (k *kept) changeLocked() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// add takes a chunk, once no follower would miss something by it.
func (k *kept) add(live context.Context, s schemas.Stream, chunk []byte) error {
	for len(chunk) > 0 {
		part := chunk[:min(len(chunk), keptBytes/2)]
		k.mu.Lock()
		ok := k.hasRoomLocked(s, len(part))
		if ok {
			t := k.of(s)
			t.bytes = append(t.bytes, part...)
			t.bytes = t.bytes[max(0, len(t.bytes)-keptBytes):]
			t.total += int64(len(part))
			chunk = chunk[len(part):]
			k.changeLocked()
		}
		changed := k.changed
		k.mu.Unlock()
		if ok {
			continue
		}
		select {
		case <-changed:
		case <-live.Done():
			return live.Err()
		}
	}
	return nil
}

func (k *kept) hasRoomLocked(s schemas.Stream, n int) bool {
	t := k.of(s)
	for f := range k.followers {
		if t.total+int64(n)-*f.of(s) > keptBytes {
			return false
		}
	}
	return true
}

// end takes down how the command ended.
func (k *kept) end(x manager.Exit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return
	}
	k.over, k.exit = true, x
	k.changeLocked()
}

func (k *kept) ended() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.over
}

// from is where a reader of the stream begins that asked for an offset.
func (t *tail) from(offset int64) (int64, error) {
	if offset > t.total {
		return 0, fail(manager.KindInvalid, "offset %d is beyond the %d bytes that there are", offset, t.total)
	}
	if offset < 0 {
		offset += t.total
	}
	return max(offset, t.start()), nil
}

// next copies what follows an offset, at most so many bytes; negative: all.
func (t *tail) next(offset, most int64) []byte {
	rest := t.bytes[offset-t.start():]
	if most >= 0 {
		rest = rest[:min(most, int64(len(rest)))]
	}
	return append([]byte(nil), rest...)
}
