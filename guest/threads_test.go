//go:build linux

package guest

import (
	"context"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// headless leaves the session and ends its first thread; another goes on. /proc
// shows such a process as a zombie.
const headless = `
import ctypes, os, threading, time
if os.fork(): time.sleep(60)
os.setsid()
if os.fork(): os._exit(0)
def tick():
    while True:
        with open("tick", "a") as f: f.write("x")
        time.sleep(0.05)
threading.Thread(target=tick).start()
time.sleep(0.2)
ctypes.CDLL(None).pthread_exit(None)
`

func needPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		skip.OrFail(t, "needs python3")
	}
}

func TestTimeoutKillsProcessWithoutFirstThread(t *testing.T) {
	needPython(t)
	m, c := newGuest(t)
	o := m.run(c, command{argv: []string{"python3", "-c", headless}, timeout: time.Second})
	if !o.TimedOut {
		t.Errorf("got %+v, %s", o.ExecResult, o.stderr)
	}
	if m.ticking("tick") {
		t.Error("something is still ticking")
	}
	m.nothingLeft()
}

func TestPauseResumesProcessWithoutFirstThread(t *testing.T) {
	needPython(t)
	m, c := newGuest(t)
	if !m.isolated {
		skip.OrFail(t, "the guest must be PID 1, which only root can make it")
	}
	go m.try(context.Background(), c, command{argv: []string{"python3", "-c", headless}, timeout: 20 * time.Second}) // until the guest ends
	eventually(t, 30*time.Second, "ticks", func() (any, bool) { return nil, m.ticking("tick") })
	time.Sleep(500 * time.Millisecond)
	_, err := c.Pack(context.Background(), protocol.PackParams{Path: []byte(protocol.Workspace), MaxBytes: 1 << 30, Pause: true}, io.Discard)
	check(t, err)
	if !m.ticking("tick") {
		t.Error("still stopped after the snapshot")
	}
}
