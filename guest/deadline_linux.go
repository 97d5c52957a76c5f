package guest

import (
	"math"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// deadline serves PathDeadline.
func (g *guest) deadline(w http.ResponseWriter, r *http.Request) error {
	var params protocol.DeadlineParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	g.expiry.set(params.Remaining)
	return answer(w, struct{}{})
}

// expiry ends the guest, and so the container, when the sandbox has outlived
// its time and no server has come to remove it.
type expiry struct {
	end func()

	mu    sync.Mutex
	fd    int // of a timer that goes on while the machine sleeps
	file  *os.File
	timer *time.Timer // in its place where there is none: it stands still
}

// newExpiry takes its descriptor, and tells by end that time is over.
func newExpiry(end func()) *expiry {
	e := &expiry{end: end}
	var err error
	if e.fd, err = unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		e.timer = time.AfterFunc(math.MaxInt64, end)
		return e
	}
	e.file = os.NewFile(uintptr(e.fd), "timer")
	go e.wait()
	return e
}

// wait blocks no thread: the timer is in the poller.
func (e *expiry) wait() {
	if n, _ := e.file.Read(make([]byte, 8)); n > 0 {
		e.end()
	}
}

// set replaces what was set before.
func (e *expiry) set(remaining time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	remaining = max(remaining, 1) // nothing would turn the timer off
	if e.timer != nil {
		e.timer.Reset(remaining)
		return
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(remaining))}
	if err := unix.TimerfdSettime(e.fd, 0, &at, nil); err != nil {
		e.timer = time.AfterFunc(remaining, e.end)
	}
}
