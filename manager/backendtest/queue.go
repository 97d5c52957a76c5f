package backendtest

import (
	"context"
	"io"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// queue is a pipe that holds some bytes, as the kernel's do.
type queue struct {
	most int
	live context.Context // of who reads

	mu      sync.Mutex
	bytes   []byte
	ended   bool          // the writer has said so
	shut    bool          // nobody reads any more
	changed chan struct{} // closed, and replaced, at each change
}

const pipeBytes = 64 << 10

func newQueue(live context.Context, most int) *queue {
	return &queue{most: most, live: live, changed: make(chan struct{})}
}

// change applies a change, and returns what tells of the next one.
func (q *queue) change(f func() bool) (next chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if f() {
		close(q.changed)
		q.changed = make(chan struct{})
	}
	return q.changed
}

// write puts all of p in, waiting for room; n is how much the queue took.
func (q *queue) write(ctx context.Context, p []byte) (n int, err error) {
	for {
		next := q.change(func() bool {
			switch room := min(q.most-len(q.bytes), len(p)-n); {
			case q.shut:
				err = fail(manager.KindConflict, "the command has closed its standard input, or ended")
			case q.ended:
				err = fail(manager.KindConflict, "the standard input was ended before")
			case room > 0:
				q.bytes = append(q.bytes, p[n:n+room]...)
				n += room
				return true
			}
			return false
		})
		if err != nil || n == len(p) {
			return n, err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return n, context.Cause(ctx)
		}
	}
}

func (q *queue) end() { q.change(func() bool { q.ended = true; return true }) }

// Read implements io.Reader, for the command.
func (q *queue) Read(p []byte) (n int, err error) {
	for {
		next := q.change(func() bool {
			n = copy(p, q.bytes)
			q.bytes = q.bytes[n:]
			if n == 0 && (q.ended || q.shut) {
				err = io.EOF
			}
			return n > 0
		})
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-next:
		case <-q.live.Done():
			return 0, q.live.Err()
		}
	}
}

// Close is for the command: it reads no more.
func (q *queue) Close() error {
	q.change(func() bool { q.shut = true; return true })
	return nil
}

// fill copies a source in, and ends the queue with it.
func (q *queue) fill(ctx context.Context, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if _, werr := q.write(ctx, buf[:n]); werr != nil {
			return
		}
		if err != nil {
			q.end()
			return
		}
	}
}
