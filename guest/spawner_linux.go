package guest

import (
	"fmt"
	"os"
	"runtime"
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
	launches chan *launch
	table    *table
	marks    *marker
	adjust   *oomScore
}

// launch is one request to the spawner.
type launch struct {
	argv  []string
	env   []string
	dir   string
	files [3]int // standard streams, the child's ends

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
func (s *spawner) start(l launch) (*process, error) {
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
	mark := s.marks.next()
	p, err := s.table.start(mark, func() (int, error) {
		defer s.adjust.raise()()
		defer s.mark(mark)()
		defer unignore()()
		return syscall.ForkExec(path, l.argv, &syscall.ProcAttr{
			Dir:   dir,
			Env:   s.marks.environment(l.env, mark),
			Files: []uintptr{uintptr(l.files[0]), uintptr(l.files[1]), uintptr(l.files[2])},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
	})
	if err != nil {
		return nil, execError(l.argv[0], err)
	}
	return p, nil
}

// mark makes the next fork inherit a mark, and returns what undoes that. The
// limit is the whole process's, and this thread is the one that may not set it.
func (s *spawner) mark(mark uint64) (restore func()) {
	var unset func()
	elsewhere(func() { unset = s.marks.set(mark) })
	return func() { elsewhere(unset) }
}

// elsewhere runs f on another thread than the caller's, which must be locked.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
