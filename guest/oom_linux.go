package guest

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// oomMeter watches the kernel's count of OOM kills in the sandbox's cgroup,
// version 1 or 2, through descriptors that stay open.
type oomMeter struct {
	fd    int
	limit int64 // memory of the sandbox in bytes; 0 if unlimited or unknown
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
//   - its leader died of a SIGKILL that was not the guest's, or
//   - it exited with 137, as a shell does whose last command was killed, or
//   - it, or a descendant it waited for, once held half of the sandbox's memory.
//
// A command that runs beside one that is killed can be blamed wrongly, and one
// that loses a small process and hides the status goes unblamed.
func (m *oomMeter) blames(killsBefore int64, p *process, code int, timedOut bool) bool {
	if timedOut || m.kills() <= killsBefore {
		return false
	}
	peak := p.usage.Maxrss << 10 // KiB
	return code == 128+int(unix.SIGKILL) || m.limit > 0 && peak >= m.limit/2
}
