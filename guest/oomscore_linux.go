package guest

import "golang.org/x/sys/unix"

// oomScore makes the kernel's OOM killer prefer commands to the guest. A child
// inherits the value that the guest has at the fork, so it is raised for that
// moment. Putting it back needs no privilege, since the lower bound, which is
// what lowering is checked against, has not moved.
type oomScore struct {
	fd       int // of /proc/self/oom_score_adj; -1 where that is refused
	original []byte
}

const childOOMScore = "500"

// openOOMScore must run while the process is dumpable: later the file belongs
// to root.
func openOOMScore() *oomScore {
	fd, err := unix.Open("/proc/self/oom_score_adj", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &oomScore{fd: -1}
	}
	buf := make([]byte, 32)
	n, _ := rawPread(fd, buf[:16])
	o := &oomScore{fd: fd, original: buf[:n]}
	o.raise()()
	if m, _ := rawPread(fd, buf[n:]); string(buf[:n]) != string(buf[n:n+m]) {
		o.fd = -1 // it went up but not down again: leave it alone from now on
	}
	return o
}

// raise returns what puts the old value back.
func (o *oomScore) raise() (restore func()) {
	if o.fd < 0 {
		return func() {}
	}
	rawWrite(o.fd, []byte(childOOMScore))
	return func() { rawWrite(o.fd, o.original) }
}
