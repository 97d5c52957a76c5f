//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestExpiry(t *testing.T) {
	over := make(chan struct{}, 1)
	e := newExpiry(func() { over <- struct{}{} })
	e.set(time.Hour)
	e.set(10 * time.Millisecond)
	e.set(time.Hour)
	select {
	case <-over:
		t.Fatal("it kept to a time that was replaced")
	case <-time.After(50 * time.Millisecond):
	}
	e.set(-time.Second)
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		t.Fatal("it did not end")
	}
}

// A machine that sleeps does not make a sandbox live longer: the kernel says
// which clock a timer goes by.
func TestExpiryCountsSleep(t *testing.T) {
	before := bootTimers(t)
	newExpiry(func() {}).set(time.Hour)
	if after := bootTimers(t); after != before+1 {
		t.Errorf("%d timers go by CLOCK_BOOTTIME, were %d", after, before)
	}
}

func bootTimers(t *testing.T) (n int) {
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		info, _ := os.ReadFile(file) // some are gone by now
		if strings.Contains(string(info), "clockid: 7\n") {
			n++
		}
	}
	return n
}
