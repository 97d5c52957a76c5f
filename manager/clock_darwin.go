package manager

import (
	"cmp"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot reads what macOS calls CLOCK_MONOTONIC, which counts sleep. Go's
// timers run by a clock that does not.
func sinceBoot() (time.Duration, string) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return sinceStart()
	}
	return time.Duration(t.Nano()), bootID()
}

var bootID = sync.OnceValue(func() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return cmp.Or(id, thisProcess())
})
