package guest

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// A command that writes a lot mostly does so in small pieces, 4 KiB as a rule,
// and the guest, which is served first, would wake up for each and send each
// through four processes. So a chunk that comes right behind another waits a
// moment for more. What comes first after a silence never waits.
const (
	rightBehind = time.Millisecond       // after the last one was sent
	gatherTime  = 100 * time.Microsecond // in which a fast command fills its pipe
)

// lastGather is when somebody has last waited, in nanoseconds of sinceStart.
var (
	lastGather   atomic.Int64
	processStart = time.Now()
)

func sinceStart(t time.Time) int64 { return int64(t.Sub(processStart)) }

// gather adds to the n bytes in buf what comes in a moment, if the last chunk was
// sent just before. Nobody waits twice: while one pipe gathers, all do.
func (o *outlet) gather(buf *[bufferSize]byte, n int, sent time.Time) int {
	if n == len(buf)-protocol.FrameHeaderSize || sent.IsZero() || time.Since(sent) > rightBehind {
		return n
	}
	if lastGather.Load() <= sinceStart(sent) {
		rawSleep(gatherTime)
		lastGather.Store(sinceStart(time.Now()))
	}
	for rest := buf[protocol.FrameHeaderSize+n:]; len(rest) > 0; {
		more, errno := rawRead(o.pipe.fd, rest)
		if more == 0 || errno != 0 {
			break
		}
		n, rest = n+more, rest[more:]
	}
	return n
}

// rawSleep is for less than Go's timers can do, which is a millisecond. The rest
// of the guest waits, too.
func rawSleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	rawNanosleep(&t)
}
