package guest

import (
	"sync"

	"golang.org/x/sys/unix"
)

// table knows the commands whose first process (the leader) has not been
// reaped. One lock covers starting and registering, reaping, and signalling by
// process or group ID. So no status is reaped before its command is known, and
// no signal goes to an ID that the kernel has given to someone else: as long as
// a leader is in the table, its process ID and group ID are its own.
type table struct {
	mu      sync.Mutex
	leaders map[int]*process
}

func newTable() *table { return &table{leaders: map[int]*process{}} }

// process is a command that was started.
type process struct {
	pid  int    // also its process group and session
	mark uint64 // what its descendants carry

	seen map[identity]bool // of the hunt for it; see marker.byEnvironment

	ended  chan struct{} // closed when the leader has been reaped
	status unix.WaitStatus
	usage  unix.Rusage
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// start runs fork under the lock and registers what it started.
func (t *table) start(mark uint64, fork func() (pid int, err error)) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pid, err := fork()
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, mark: mark, seen: map[identity]bool{}, ended: make(chan struct{})}
	t.leaders[pid] = p
	return p, nil
}

// reap takes the status of every child that has ended, adopted orphans
// included.
func (t *table) reap() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		pid := rawWait(&status, &usage)
		if pid <= 0 {
			return
		}
		if p := t.leaders[pid]; p != nil {
			delete(t.leaders, pid)
			p.status, p.usage = status, usage
			close(p.ended)
		}
	}
}

// killGroup kills the leader and its process group, if the leader still lives.
func (t *table) killGroup(p *process) { t.signalGroup(p, unix.SIGKILL) }

// signalGroup signals the leader's process group, if the leader still lives.
func (t *table) signalGroup(p *process, sig unix.Signal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leaders[p.pid] == p && rawKill(-p.pid, sig) == 0
}
