package guest

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// niceness of commands. It counts only among the processes of one sandbox, whose
// CPU time is shared out as a whole by its cgroup. The least is right: two
// hundred processes of a fork bomb then weigh together three times as much as
// the guest; with a niceness of 5 it would be sixty times, and its look for them
// would take half a second instead of a few milliseconds.
const niceness = 19

// spawner starts every command from one OS thread, which alone is niced; what
// it forks inherits that. Serial starts cost nothing: a fork holds locks that
// make it serial anyway.
type spawner struct {
	starting sync.Mutex // held while a command is being started
	launches chan *launch
	table    *table
	marks    *marker
	adjust   *oomScore
}

// launch is one request to the spawner.
type launch struct {
	argv     []string
	env      []string
	dir      string
	files    [3]int // standard streams, the child's ends
	mark     uint64
	terminal bool // they are a terminal, which is to be the child's

	process *process
	err     error
	done    chan struct{}
}

func startSpawner(t *table, marks *marker, adjust *oomScore) *spawner {
	s := &spawner{launches: make(chan *launch), table: t, marks: marks, adjust: adjust}
	go s.serve()
	return s
}

// start runs l and waits until its program has been entered, or could not be.
// The mark, a limit of the whole process that a fork inherits, is set and put
// back here, since the spawner's fenced thread may not do that.
func (s *spawner) start(l launch) (*process, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	l.mark = s.marks.next()
	defer s.marks.set(l.mark)()
	procs.add(1)
	defer procs.add(-1)
	l.done = make(chan struct{})
	s.launches <- &l
	<-l.done
	return l.process, l.err
}

func (s *spawner) serve() {
	runtime.LockOSThread()
	unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) // 0: this thread only
	if err := fence(ownThreads()); err != nil {
		fmt.Fprintln(os.Stderr, "fence commands off:", err)
	}
	for l := range s.launches {
		l.process, l.err = s.launch(l)
		close(l.done)
	}
}

func (s *spawner) launch(l *launch) (*process, error) {
	dir, err := workdir(l.dir)
	if err != nil {
		return nil, err
	}
	path, err := lookup(l.argv[0], dir, l.env)
	if err != nil {
		return nil, err
	}
	p, err := s.table.start(l.mark, func() (int, error) {
		defer s.adjust.raise()()
		defer unignore()()
		return syscall.ForkExec(path, l.argv, &syscall.ProcAttr{
			Dir:   dir,
			Env:   s.marks.environment(l.env, l.mark),
			Files: []uintptr{uintptr(l.files[0]), uintptr(l.files[1]), uintptr(l.files[2])},
			Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: l.terminal}, // Ctty 0: standard input
		})
	})
	if err != nil {
		return nil, execError(l.argv[0], err)
	}
	return p, nil
}
