package guest

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// After a command has ended, a background child may hold its output pipes for
// ever. What was in them at that moment is delivered however long that takes;
// then reading goes on until the pipe is silent for quietTime, but no longer
// than drainTime in all.
const (
	quietTime = 50 * time.Millisecond
	drainTime = time.Second
)

// bufferSize is what one read takes at most: a whole pipe, and room for the
// frame header before it.
const bufferSize = protocol.FrameHeaderSize + 64<<10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// sink takes output frames, for whose header the first bytes of b are left free,
// from several outlets at once. It may make them wait. What it keeps for a while
// it sends by flush.
type sink interface {
	write(s protocol.Stream, b []byte) error
	flush() error
}

// outlet carries one output stream of a command to where it belongs.
type outlet struct {
	pipe   *pipeEnd
	stream protocol.Stream
	out    sink
	room   int64 // bytes that may still be sent; negative: any number
	hidden int64 // bytes that may be under way and not show in the pipe yet
	total  atomic.Int64

	ended     atomic.Bool  // the command itself has ended: the times above run
	owed      atomic.Int64 // bytes that were in the pipe then and are not yet read
	hardEnd   time.Time    // set before ended
	abandoned atomic.Bool
	drained   chan error // receives once, when all is delivered that will be
}

func newOutlet(pipe *pipeEnd, stream protocol.Stream, limit int64, out sink) *outlet {
	o := &outlet{pipe: pipe, stream: stream, out: out, room: limit, drained: make(chan error, 1)}
	go o.run()
	return o
}

// run delivers, and then keeps the pipe open and empty for as long as somebody
// holds its other end, so that a server left in the background is neither
// blocked nor killed by SIGPIPE.
func (o *outlet) run() {
	o.drained <- o.deliver()
	o.discard()
	o.pipe.close()
}

// leaderEnded starts the end of delivery.
func (o *outlet) leaderEnded() {
	o.hardEnd = time.Now().Add(drainTime)
	o.owed.Store(int64(rawPending(o.pipe.fd)) + o.hidden)
	o.ended.Store(true)
	o.pipe.file.SetReadDeadline(time.Now().Add(quietTime)) // wakes the reader
}

// abandon ends delivery because nobody listens.
func (o *outlet) abandon() {
	o.abandoned.Store(true)
	o.pipe.file.SetReadDeadline(time.Unix(1, 0))
}

// deliver reads and sends until the pipe ends or may be left.
func (o *outlet) deliver() error {
	var sent time.Time
	for {
		buf, n := o.next()
		if n == 0 {
			return o.out.flush()
		}
		n = o.gather(buf, n, sent)
		o.owed.Add(-int64(n))
		o.total.Add(int64(n))
		err := o.send(buf[:protocol.FrameHeaderSize+n])
		buffers.Put(buf)
		if err != nil {
			return err
		}
		sent = time.Now()
	}
}

// next reads a chunk into a buffer; none means that delivery is over. It looks
// into the pipe before it looks at the clock, so a reader that comes late,
// because the caller was slow to take the last chunk, still finds all that is
// there.
func (o *outlet) next() (buf *[bufferSize]byte, n int) {
	ended := o.ended.Load()
	late := ended && time.Now().After(o.hardEnd)
	if o.abandoned.Load() || late && o.owed.Load() <= 0 {
		return nil, 0
	}
	buf, n, errno := o.take()
	if errno != unix.EAGAIN || late {
		return buf, n
	}
	if o.out.flush() != nil {
		return nil, 0
	}
	if ended {
		o.pipe.file.SetReadDeadline(time.Now().Add(quietTime))
	}
	err := o.pipe.await(func() bool {
		buf, n, errno = o.take()
		return errno != unix.EAGAIN
	})
	if errors.Is(err, os.ErrDeadlineExceeded) { // perhaps one that passed before the wait began
		buf, n, _ = o.take()
	}
	return buf, n
}

// take reads what is there. It has a buffer only when something is: commands
// that are silent, of which there may be many, need none.
func (o *outlet) take() (buf *[bufferSize]byte, n int, errno unix.Errno) {
	buf = buffers.Get().(*[bufferSize]byte)
	n, errno = rawRead(o.pipe.fd, buf[protocol.FrameHeaderSize:])
	if n == 0 {
		buffers.Put(buf)
		return nil, 0, errno
	}
	return buf, n, errno
}

// send passes on as much of a chunk as there is room for.
func (o *outlet) send(frame []byte) error {
	payload := int64(len(frame) - protocol.FrameHeaderSize)
	if o.room >= 0 {
		payload = min(payload, o.room)
		o.room -= payload
	}
	if payload == 0 {
		return nil
	}
	err := o.out.write(o.stream, frame[:protocol.FrameHeaderSize+payload])
	if err == nil && o.room == 0 {
		err = o.out.flush() // nothing more comes that it could go with
	}
	return err
}

// trash takes what nobody wants; that several fill it at once does no harm.
var trash [64 << 10]byte

// discard reads into nothing until the pipe's last holder is gone.
func (o *outlet) discard() {
	for {
		o.pipe.file.SetReadDeadline(time.Time{})
		_, err := o.pipe.Read(trash[:])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}
