package guest

import (
	"context"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// reader is somebody's place on a tape.
type reader struct {
	tape  *tape
	holds bool     // the writer waits rather than overrun it
	began [2]int64 // where reading began, by track
	at    [2]int64 // where it goes on
	room  [2]int64 // bytes still wanted; negative: any number
}

// open gives a reader that begins at given offsets, see protocol.PollParams, or
// where what is kept begins. One that holds must be closed.
func (t *tape) open(from [2]int64, holds bool) (*reader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &reader{tape: t, holds: holds, room: [2]int64{-1, -1}}
	for i := range t.tracks {
		track := &t.tracks[i]
		at := from[i]
		if at < 0 {
			at = max(0, track.total+at)
		}
		if at > track.total {
			return nil, &protocol.Error{Code: protocol.ErrInvalid, Message: fmt.Sprintf(
				"%s offset %d: there are only %d bytes yet", protocol.Stdout+protocol.Stream(i), at, track.total)}
		}
		r.at[i] = max(at, track.oldest())
	}
	r.began = r.at
	if holds {
		t.held = append(t.held, r)
	}
	return r, nil
}

func (r *reader) close() {
	if r.holds {
		r.tape.release(r)
	}
}

// limit makes the reader want no more than so much of each track, of what is
// there now.
func (r *reader) limit(size int64) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	for i := range r.tape.tracks {
		r.room[i] = r.tape.tracks[i].total - r.at[i]
		if size >= 0 {
			r.room[i] = min(r.room[i], size)
		}
	}
}

// read copies what comes next on a track, and passes over it. Where a reader
// that does not hold was overrun it goes on at the oldest there is, but only
// before its first byte: what one reader gets has no holes.
func (r *reader) read(track int, p []byte) (n int) {
	t := r.tape
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.erased {
		return 0
	}
	ring := &t.tracks[track]
	if oldest := ring.oldest(); r.at[track] < oldest {
		if r.at[track] != r.began[track] {
			return 0
		}
		r.at[track], r.began[track] = oldest, oldest
	}
	if r.room[track] >= 0 {
		p = p[:min(int64(len(p)), r.room[track])]
	}
	return ring.get(p, r.at[track])
}

// pass is for when n bytes of a track have arrived where they belong.
func (r *reader) pass(track, n int) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	r.at[track] += int64(n)
	if r.room[track] >= 0 {
		r.room[track] -= int64(n)
	}
	r.tape.space.happen()
}

// skip passes over what is not wanted.
func (r *reader) skip() {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	for i := range r.tape.tracks {
		if r.room[i] == 0 {
			r.at[i] = r.tape.tracks[i].total
		}
	}
	r.tape.space.happen()
}

// look tells whether there is something to read, whether nothing more will come
// after it, and gives a channel that is closed when that changes.
func (r *reader) look() (some, last bool, news <-chan struct{}) {
	t := r.tape
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.tracks {
		some = some || t.tracks[i].total > r.at[i]
	}
	return some && !t.erased, t.ended || t.erased, t.news.wait()
}

// send sends one chunk of each track, if there is one.
func (r *reader) send(out *frameWriter) (sent bool, err error) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for i := range r.tape.tracks {
		n := r.read(i, buf[protocol.FrameHeaderSize:])
		if n == 0 {
			continue
		}
		if err := out.write(protocol.Stdout+protocol.Stream(i), buf[:protocol.FrameHeaderSize+n]); err != nil {
			return false, err
		}
		r.pass(i, n)
		sent = true
	}
	return sent, nil
}

// follow sends what comes until all of a tape that has ended is sent, or enough
// is closed, or ctx is done. What it has no room for it passes over.
func (r *reader) follow(ctx context.Context, out *frameWriter, enough <-chan struct{}) (ended bool, err error) {
	for {
		r.skip()
		some, last, news := r.look()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if last && !some {
			return true, nil
		}
		if !last && isClosed(enough) {
			return false, nil
		}
		if some {
			if _, err := r.send(out); err != nil {
				return false, err
			}
			continue
		}
		if err := out.flush(); err != nil {
			return false, err
		}
		select {
		case <-news:
		case <-enough:
		case <-ctx.Done():
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
