//go:build linux

package guest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// What comes right behind something else comes with all that is there; what comes
// after a silence comes as it is.
func TestGather(t *testing.T) {
	const room = bufferSize - protocol.FrameHeaderSize
	for name, test := range map[string]struct {
		have, waiting int
		sent          time.Duration // ago; negative: never
		want          int
	}{
		"first":           {have: 10, waiting: 100, sent: -1, want: 10},
		"after a silence": {have: 10, waiting: 100, sent: time.Minute, want: 10},
		"right behind":    {have: 10, waiting: 100, want: 110},
		"nothing follows": {have: 10, want: 10},
		"full":            {have: room, waiting: 100, want: room},
		"almost full":     {have: room - 1, waiting: 100, want: room},
	} {
		t.Run(name, func(t *testing.T) {
			var fds [2]int
			check(t, unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
			own, err := newPipeEnd(fds[0])
			check(t, err)
			defer own.close()
			defer unix.Close(fds[1])
			if test.waiting > 0 {
				_, err := unix.Write(fds[1], make([]byte, test.waiting))
				check(t, err)
			}
			sent := time.Now().Add(time.Second) // right behind, however slow this is
			switch {
			case test.sent < 0:
				sent = time.Time{}
			case test.sent > 0:
				sent = time.Now().Add(-test.sent)
			}
			o := &outlet{pipe: own}
			if n := o.gather(new([bufferSize]byte), test.have, sent); n != test.want {
				t.Errorf("got %d bytes, want %d", n, test.want)
			}
		})
	}
}
