package manager

import (
	"crypto/rand"
	"sync"
	"time"
)

// A Clock reads the time.
type Clock func() Instant

// Instant is one reading of two clocks.
type Instant struct {
	// Wall is the time of day. It may be set, forward or back, at any moment.
	Wall time.Time
	// Up is the time since the machine was started, sleep included. Nobody sets it.
	Up time.Duration
	// Boot names that start. Only readings of one start can be compared.
	Boot string
}

func (m *Manager) now() Instant { return m.cfg.Clock() }

// machineClock reads the machine's clocks.
func machineClock() Instant {
	up, boot := sinceBoot()
	return Instant{Wall: time.Now().Round(0), Up: up, Boot: boot}
}

// thisProcess stands for the start of the machine where that has no name: then
// the time since boot counts within this process, and the wall clock between two.
var thisProcess = sync.OnceValue(rand.Text)

var processStart = time.Now()

func sinceStart() (time.Duration, string) { return time.Since(processStart), thisProcess() }
