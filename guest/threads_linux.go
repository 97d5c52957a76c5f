package guest

import (
	"runtime"
	"sync"
)

// Threads count against the sandbox's process limit, which may be as low as 32,
// and under a fork bomb no more can be made: the Go runtime then dies. So all
// that may ever be needed are made at start and kept; the runtime never gives
// idle threads back. The count is small because so little here can block:
//
//	goroutines at work              maxProcs (2)
//	runtime: monitor, template thread, signal receiver        3
//	inside the kernel for files and archives       maxDiskCalls (3)
//	spawner, /proc scan, channel read, channel write            4
//
// Everything else waits in the poller, or is a call that cannot block and is
// made raw, without the scheduler's knowledge (raw_linux.go).
const (
	maxProcs     = 2
	maxDiskCalls = 3
	threadBudget = 12
	ownThreads   = 2 // the monitor and the template thread come on their own
)

// startThreads makes the threads by holding as many goroutines to a thread of
// their own at the same time.
func startThreads() {
	runtime.GOMAXPROCS(maxProcs)
	var running, done sync.WaitGroup
	release := make(chan struct{})
	for range threadBudget - ownThreads {
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
