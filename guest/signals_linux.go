package guest

import (
	"fmt"
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignoreSignals makes every signal that a process inside may send to PID 1
// harmless. The kernel drops those without a handler, but the Go runtime has
// installed handlers, and without Notify its own for SIGTERM or SIGSEGV would
// end the guest. Nobody reads the channel: what does not fit is dropped.
//
// Ignoring them instead would be inherited by every command. SIGURG is left
// out: the runtime sends it to itself all the time, and is immune to it.
func ignoreSignals() {
	var all []os.Signal
	for sig := unix.Signal(1); sig <= 64; sig++ {
		if sig != unix.SIGURG && sig != unix.SIGCHLD {
			all = append(all, sig)
		}
	}
	signal.Notify(make(chan os.Signal, 1), all...)
	resetLibraryIgnored()
}

// resetLibraryIgnored makes commands start with the two signals that C libraries
// use among threads at their default, whatever started the guest: Go's runtime
// leaves them as they were, and what is ignored stays so in a child.
func resetLibraryIgnored() {
	var byDefault [4]uint64 // struct sigaction: a null handler
	for sig := uintptr(32); sig <= 33; sig++ {
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	}
}

// becomeReaper adopts orphans (PID 1 does so anyway) and reaps whatever ends.
func becomeReaper(t *table) {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended { // one signal may stand for many children
			t.reap()
		}
	}()
}

// signalName is the name of a signal, also of those without one of their own.
func signalName(sig unix.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(sig))
}
