package manager

import (
	"bytes"
	"cmp"
	"os"

	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot reads CLOCK_BOOTTIME: CLOCK_MONOTONIC, which Go's timers run by,
// stands still during sleep.
func sinceBoot() (time.Duration, string) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return sinceStart()
	}
	return time.Duration(t.Nano()), bootID()
}

// bootID is not to be had where /proc is cut down.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return cmp.Or(string(bytes.TrimSpace(id)), thisProcess())
})
