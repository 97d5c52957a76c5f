package guest

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
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
//
// Those that tell of a fault the runtime hands to no channel unless kill(2) sent
// them, and a process may send them in other ways (sigqueue, F_SETSIG), which
// look like a fault and end the guest. PID 1 ignores them: a true fault ends it,
// be it one that the runtime would have made a panic of. The default would not
// do: it is deadly while the first thread blocks the signal. Commands do not
// inherit it, as the runtime resets what it once had a handler for.
func ignoreSignals() {
	var all []os.Signal
	for sig := unix.Signal(1); sig <= 64; sig++ {
		switch {
		case sig == unix.SIGURG || sig == unix.SIGCHLD:
		case os.Getpid() == 1 && slices.Contains(faults, sig):
			ignore(sig)
		default:
			all = append(all, sig)
		}
	}
	signal.Notify(make(chan os.Signal, 1), all...)
	ignoreUnhandled()
}

// faults are the signals that end a Go program which nobody seems to have sent.
var faults = []unix.Signal{
	unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS,
}

// unhandled are the signals for which the runtime has no handler (some that C
// libraries use among threads; which ones depends on the build), so that nothing
// would be done about them. Nor does it reset them for commands.
var unhandled []unix.Signal

// ignoreUnhandled finds them, and ignores them.
func ignoreUnhandled() {
	for sig := unix.Signal(32); sig <= 34; sig++ {
		if handler := getAction(sig); handler == sigDefault || handler == sigIgnore {
			unhandled = append(unhandled, sig)
			ignore(sig)
		}
	}
}

// unignore makes the next fork start with the default for what is ignored and
// would stay so, and returns what undoes that.
func unignore() (restore func()) {
	for _, sig := range unhandled {
		setAction(sig, sigDefault)
	}
	return func() {
		for _, sig := range unhandled {
			ignore(sig)
		}
	}
}

// ignore takes a signal from the Go runtime behind its back: signal.Ignore
// leaves the runtime its handler for faults.
func ignore(sig unix.Signal) { setAction(sig, sigIgnore) }

// sigaction is the kernel's: handler, flags, and so on, all zero but the first.
type sigaction [4]uint64

// Handlers, as rt_sigaction(2) has them.
const (
	sigDefault = 0
	sigIgnore  = 1

	sigsetSize = 8
)

func setAction(sig unix.Signal, handler uint64) {
	action := sigaction{handler}
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, sigsetSize, 0, 0)
}

func getAction(sig unix.Signal) (handler uint64) {
	var action sigaction
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), sigsetSize, 0, 0)
	return action[0]
}

// becomeReaper adopts orphans (PID 1 does so anyway) and reaps whatever ends.
// Then it calls reaped.
func becomeReaper(t *table, reaped func()) {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended { // one signal may stand for many children
			t.reap()
			reaped()
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
