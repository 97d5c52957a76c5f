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

// outlet carries one output stream of a command to the caller.
type outlet struct {
	pipe   *pipeEnd
	stream protocol.Stream
	out    *frameWriter
	room   int64 // bytes that may still be sent; negative: any number
	total  atomic.Int64

	ended     atomic.Bool  // the command itself has ended: the times above run
	owed      atomic.Int64 // bytes that were in the pipe then and are not yet read
	hardEnd   time.Time    // set before ended
	abandoned atomic.Bool
	drained   chan error // receives once, when all is delivered that will be
}

func newOutlet(pipe *pipeEnd, stream protocol.Stream, limit int64, out *frameWriter) *outlet {
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
	o.owed.Store(int64(rawPending(o.pipe.fd)))
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
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n := o.next(buf[protocol.FrameHeaderSize:])
		if n == 0 {
			return nil
		}
		o.owed.Add(-int64(n))
		o.total.Add(int64(n))
		if err := o.send(buf[:protocol.FrameHeaderSize+n]); err != nil {
			return err
		}
	}
}

// next reads a chunk; none means that delivery is over. It looks into the pipe
// before it looks at the clock, so a reader that comes late, because the caller
// was slow to take the last chunk, still finds all that is there.
func (o *outlet) next(p []byte) int {
	ended := o.ended.Load()
	late := ended && time.Now().After(o.hardEnd)
	if o.abandoned.Load() || late && o.owed.Load() <= 0 {
		return 0
	}
	n, errno := rawRead(o.pipe.fd, p)
	if errno != unix.EAGAIN {
		return n
	}
	if late {
		return 0
	}
	if ended {
		o.pipe.file.SetReadDeadline(time.Now().Add(quietTime))
	}
	n, err := o.pipe.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) { // perhaps one that passed before the wait began
		n, _ = rawRead(o.pipe.fd, p)
	}
	return n
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
	return o.out.write(o.stream, frame[:protocol.FrameHeaderSize+payload])
}

// sink takes what nobody wants; that several fill it at once does no harm.
var sink [64 << 10]byte

// discard reads into nothing until the pipe's last holder is gone.
func (o *outlet) discard() {
	for {
		o.pipe.file.SetReadDeadline(time.Time{})
		_, err := o.pipe.Read(sink[:])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}
