package guest

import (
	"os"
	"runtime"
	"sync"
)

// Threads count against the sandbox's process limit, which may be as low as 32,
// and under a fork bomb no more can be made: the Go runtime then dies. So all
// that may ever be needed are made at start and kept; the runtime never gives
// idle threads back. The number is small because so little here can block:
//
//	goroutines at work                                2  maxProcs
//	runtime: monitor, template thread, poller         3
//	signals: one that owns the mask, one receiver     2
//	inside the kernel for files and archives          3  maxDiskCalls
//	the spawner                                       1
//	opening and closing pipes, one at a time          1  kernel.Lock
//
// Everything else waits in the poller, or is a call that does not wait and is
// made without the scheduler's knowledge (raw_linux.go).
const (
	maxProcs     = 2
	maxDiskCalls = 3
	threadBudget = 12
)

// kernel is held around ordinary system calls that any number of goroutines may
// come to at once.
var kernel sync.Mutex

// startThreads makes the threads by holding ever more goroutines to a thread of
// their own at the same time. How many threads there are before, and whether one
// or two more are still being made when the count is reached, depends on the
// runtime's mood.
func startThreads() {
	runtime.GOMAXPROCS(maxProcs)
	for n := 1; n < threadBudget && threads() < threadBudget; n++ {
		holdThreads(n)
	}
	runtime.GOMAXPROCS(1)
}

// processors has the Go scheduler use one processor while all is short work: a
// second one costs more in wake-ups than it saves. What may hold its processor
// for long, as a fork whose child somebody stops before it has become the
// program, or an archive, takes a second one for the others meanwhile.
type processors struct {
	mu   sync.Mutex
	busy int
}

var procs processors

// add says that so many more, or less, need that.
func (p *processors) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.busy
	if p.busy += n; (p.busy > 0) != (before > 0) {
		runtime.GOMAXPROCS(1 + min(p.busy, maxProcs-1))
	}
}

func holdThreads(n int) {
	var running, done sync.WaitGroup
	release := make(chan struct{})
	for range n {
		running.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			running.Done()
			<-release
			runtime.UnlockOSThread() // else the thread would end with the goroutine
		})
	}
	running.Wait()
	close(release)
	done.Wait()
}

// threads is how many the process has now; 0 if that cannot be told.
func threads() int {
	tasks, _ := os.ReadDir("/proc/self/task")
	return len(tasks)
}
