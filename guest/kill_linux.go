package guest

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a hunt. A process inside an uninterruptible system call can be
// neither stopped nor killed by anyone; it dies when that returns.
const (
	freezePatience = 300 * time.Millisecond
	killPatience   = 800 * time.Millisecond
)

// killTree kills a command with everything it started and reports whether none
// of it was left at the deadline.
//
// First goes the process group, in one indivisible step that no fork in it can
// outrun. Then whatever carries the mark is stopped, over and over, because
// what is forked during one look is only seen by the next, and only when all
// stand still are they killed. Killing at once would make room under the
// process limit, into which those not yet seen could fork for ever; the stopped
// keep it full. If they are very many, the brake is pulled.
func (g *guest) killTree(p *process, deadline time.Time) bool {
	g.marks.descendants(p, 1) // while parents still live, for where that is all there is
	g.table.killGroup(p)
	defer g.freeze(p)()
	for {
		left := g.marks.descendants(p, all)
		for _, s := range left {
			g.signalMarked(p, s.pid, unix.SIGKILL)
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return len(left) == 0
		}
		time.Sleep(time.Millisecond) // they need the CPU to die
	}
}

// stampede is how many descendants make it likely that looking for them one by
// one loses the race.
const stampede = 16

const all = 1 << 30

// freeze stops p's descendants and returns what starts bystanders again.
func (g *guest) freeze(p *process) (thaw func()) {
	for deadline := time.Now().Add(freezePatience); time.Now().Before(deadline); {
		if g.isStampede(p) && g.pausing.TryLock() {
			return g.brake(p)
		}
		if g.stop(p, g.marks.descendants(p, all)) == 0 {
			break
		}
	}
	return func() {}
}

// isStampede reports whether to pull the brake. Only as PID 1 is the guest among
// the sandbox's processes alone.
func (g *guest) isStampede(p *process) bool {
	return os.Getpid() == 1 && len(g.marks.descendants(p, stampede)) == stampede
}

// stop stops those of the descendants that run, and counts them.
func (g *guest) stop(p *process, descendants []stat) (running int) {
	for _, s := range descendants {
		if !s.stopped() {
			running++
			g.signalMarked(p, s.pid, unix.SIGSTOP)
		}
	}
	return running
}

// brake stops everything in the sandbox, which also leaves the CPU to the guest.
// Bystanders go on as soon as the hunt is over. A snapshot's pause does the same
// and must not be mixed up with it, hence the lock.
func (g *guest) brake(p *process) (release func()) {
	restart := halt(func() []stat { return g.marks.others(p) })
	return func() {
		restart()
		g.pausing.Unlock()
	}
}

// signalMarked signals pid if it is still a process that carries p's mark. The
// descriptor pins the process, so that a pid given to another in between does
// no harm; without one (old kernels) the window is some microseconds.
func (g *guest) signalMarked(p *process, pid int, sig unix.Signal) {
	fd, errno := rawPidfdOpen(pid)
	if errno != 0 {
		if errno != unix.ESRCH {
			rawKill(pid, sig)
		}
		return
	}
	defer rawClose(fd)
	if mark, ok := markOf(pid); g.marks.usable && (!ok || mark != p.mark) {
		return
	}
	if errno := rawPidfdSignal(fd, sig); errno == unix.ENOSYS || errno == unix.EPERM {
		rawKill(pid, sig)
	}
}
