package guest

import (
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// tape is what a background exec has written last, for any number of readers
// (see [reader]). The writer never waits, except for readers that hold it.
type tape struct {
	memory mapping
	size   int           // of a track when it has grown
	done   chan struct{} // closed when nothing more comes: at its end, or when it is erased

	mu     sync.Mutex
	tracks []ring // by protocol.Stream, from Stdout on
	held   []*reader
	news   event // something was written, or done
	space  event // a reader has got on, or let go
	result protocol.ExecResult
	ended  bool // and result is there
	erased bool
}

func newTape(tracks, size int) (*tape, error) {
	memory, err := newMapping(tracks * size)
	if err != nil {
		return nil, &protocol.Error{Code: protocol.ErrNoProcesses, Message: "no memory for output and input: " + err.Error()}
	}
	t := &tape{memory: memory, size: size, done: make(chan struct{}), tracks: make([]ring, tracks)}
	for i := range t.tracks {
		t.tracks[i].data = t.part(i)[:min(size, firstRing)]
	}
	return t, nil
}

// part is the memory of a track.
func (t *tape) part(track int) []byte { return t.memory[track*t.size : (track+1)*t.size] }

// grow lets the tape keep as much as it may.
func (t *tape) grow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.erased {
		return
	}
	for i := range t.tracks {
		t.tracks[i].grow(t.part(i))
	}
	t.space.happen()
}

var errErased = errors.New("nobody can read this any more")

// write takes a frame as a frameWriter does.
func (t *tape) write(s protocol.Stream, frame []byte) error {
	return t.put(int(s-protocol.Stdout), frame[protocol.FrameHeaderSize:])
}

// flush has nothing to do: readers have had news already.
func (t *tape) flush() error { return nil }

func (t *tape) put(track int, p []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if t.erased {
			return errErased
		}
		n := min(t.room(track), len(p))
		t.tracks[track].put(p[:n])
		if p = p[n:]; n > 0 {
			t.news.happen()
		}
		if len(p) == 0 {
			return nil
		}
		space := t.space.wait()
		t.mu.Unlock()
		<-space
		t.mu.Lock()
	}
}

// room is how much may be written before a reader that holds loses something.
func (t *tape) room(track int) int {
	room := math.MaxInt
	for _, r := range t.held {
		unread := t.tracks[track].total - r.at[track]
		room = min(room, len(t.tracks[track].data)-int(unread))
	}
	return room
}

// end says that nothing more is written, and how it ended.
func (t *tape) end(result protocol.ExecResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result, t.ended = result, true
	t.finish()
}

// erase gives back the memory. Readers find nothing more.
func (t *tape) erase() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.erased {
		return
	}
	t.erased = true
	for i := range t.tracks {
		t.tracks[i].data = nil
	}
	t.memory.free()
	t.finish()
}

func (t *tape) isErased() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.erased
}

func (t *tape) finish() {
	select {
	case <-t.done:
	default:
		close(t.done)
	}
	t.news.happen()
	t.space.happen()
}

// outcome is the result, or, of what still runs, its totals.
func (t *tape) outcome() protocol.ExecResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return t.result
	}
	r := protocol.ExecResult{Running: true, StdoutBytes: t.tracks[0].total}
	if len(t.tracks) > 1 {
		r.StderrBytes = t.tracks[1].total
	}
	return r
}

func (t *tape) release(r *reader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = slices.DeleteFunc(t.held, func(h *reader) bool { return h == r })
	t.space.happen()
}
