package guest

import (
	"time"

	"golang.org/x/sys/unix"
)

// killPatience bounds a hunt. A process inside an uninterruptible system call
// cannot be killed by anyone; it dies when that returns.
const killPatience = 800 * time.Millisecond

// killTree kills a command with everything it started and reports whether none
// of it is left. First the process group, in one indivisible step that no fork
// in it can outrun; then whatever carries the mark, over and over, because what
// forks during one look is only seen by the next. A killed process cannot fork,
// so each round leaves fewer.
func (g *guest) killTree(p *process) bool {
	deadline := time.Now().Add(killPatience)
	for pause := time.Duration(0); ; pause = min(pause+time.Millisecond, 20*time.Millisecond) {
		g.table.killGroup(p)
		left := g.marks.descendants(p)
		if len(left) == 0 {
			return true
		}
		for _, pid := range left {
			g.killMarked(p, pid)
		}
		if time.Now().After(deadline) {
			return false
		}
		if pause > 3*time.Millisecond { // the first rounds race a fork bomb
			time.Sleep(pause)
		}
	}
}

// killMarked kills pid if it is still the process that carries p's mark. The
// descriptor pins the process, so that a pid given to another in between does
// no harm; without one (old kernels) the window is some microseconds.
func (g *guest) killMarked(p *process, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if err != unix.ESRCH {
			rawKill(pid, unix.SIGKILL)
		}
		return
	}
	defer unix.Close(fd)
	if mark, ok := markOf(pid); g.marks.usable && (!ok || mark != p.mark) {
		return
	}
	if unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == unix.ENOSYS {
		rawKill(pid, unix.SIGKILL)
	}
}
