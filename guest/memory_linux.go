package guest

import "runtime/debug"

// Memory that the guest takes is memory that the sandbox's owner lacks, and a
// sandbox may have 16 MiB in all.
const (
	minMemoryTarget = 6 << 20
	maxMemoryTarget = 32 << 20
)

// boundMemory makes the collector work harder as the heap nears a quarter of
// the sandbox's memory.
func boundMemory(limit int64) {
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(min(max(limit/4, minMemoryTarget), maxMemoryTarget))
}
