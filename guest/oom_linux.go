package guest

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// oomMeter watches the kernel's count of OOM kills in the sandbox's cgroup,
// version 1 or 2, through descriptors that stay open.
type oomMeter struct {
	fd    int
	limit int64 // memory of the sandbox in bytes; 0 if unlimited or unknown

	mu    sync.Mutex
	count int64
	rose  time.Time // when count was first seen to be what it is
}

// oomLook is how often the count is looked at while commands run.
const oomLook = 200 * time.Millisecond

// look is the count of kills, and when it last rose.
func (m *oomMeter) look() (kills int64, rose time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.kills(); n > m.count {
		m.count, m.rose = n, time.Now()
	}
	return m.count, m.rose
}

var oomFiles = []struct{ events, limit string }{
	{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory.max"},
	{"/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
}

func openOOMMeter() *oomMeter {
	for _, f := range oomFiles {
		if fd, err := unix.Open(f.events, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			return &oomMeter{fd: fd, limit: readLimit(f.limit)}
		}
	}
	return &oomMeter{fd: -1}
}

// readLimit reads a byte count; "max" and numbers near 2^63 mean no limit.
func readLimit(path string) int64 {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	buf := make([]byte, 64)
	n, _ := rawPread(fd, buf)
	limit, err := strconv.ParseInt(string(bytes.TrimSpace(buf[:n])), 10, 64)
	if err != nil || limit > 1<<60 {
		return 0
	}
	return limit
}

// kills is how many processes of the sandbox the OOM killer has taken.
func (m *oomMeter) kills() (n int64) {
	if m.fd < 0 {
		return 0
	}
	buf := make([]byte, 1<<10)
	size, _ := rawPread(m.fd, buf)
	for line := range bytes.Lines(buf[:size]) {
		if value, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			n, _ = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		}
	}
	return n
}

// blames infers whether an ended command lost a process to the OOM killer. The
// kernel says only how often it killed in the whole sandbox, so besides a kill
// during the run there must be a sign that it hit this command:
//
//   - right after the kill its leader died of a SIGKILL that was not the
//     guest's, or exited with 137, as a shell does whose last command was killed;
//   - or it, or a descendant it waited for, once held half of the sandbox's
//     memory.
//
// It is called when the leader has ended. A command that ends by SIGKILL in the
// same moment as another one loses a process can be blamed wrongly, and one that
// loses a small process and hides the status goes unblamed.
func (m *oomMeter) blames(killsBefore int64, p *process, code int) bool {
	kills, rose := m.look()
	if kills <= killsBefore {
		return false
	}
	peak := p.usage.Maxrss << 10 // KiB
	justNow := time.Since(rose) < 2*oomLook
	return justNow && code == 128+int(unix.SIGKILL) || m.limit > 0 && peak >= m.limit/2
}
