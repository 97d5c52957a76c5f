package guest

import (
	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Sizes of what is kept of one stream. What all background execs keep together
// is at most an eighth of the sandbox's memory, or 2 MiB where that is less.
const (
	maxRing = 1 << 20
	minRing = 32 << 10
	// firstRing is what it has while a call stays with the exec, and takes what
	// comes: most end then.
	firstRing = 64 << 10
)

// ringSize is the size of each ring in a sandbox with so much memory (0: any).
func ringSize(memory int64) int {
	if memory <= 0 {
		return maxRing
	}
	const rings = 2 * protocol.MaxBackground
	return int(min(max(memory/8/rings, minRing), maxRing))
}

// ring keeps the last bytes of a stream that is counted from 0.
type ring struct {
	data  []byte
	total int64 // that came
	lost  int64 // of the first, before it has grown
}

// oldest is where what is kept begins.
func (r *ring) oldest() int64 { return max(r.lost, r.total-int64(len(r.data))) }

// put adds p, over what is oldest.
func (r *ring) put(p []byte) {
	if skip := len(p) - len(r.data); skip > 0 {
		r.total += int64(skip)
		p = p[skip:]
	}
	for len(p) > 0 {
		n := copy(r.data[r.total%int64(len(r.data)):], p)
		r.total += int64(n)
		p = p[n:]
	}
}

// grow makes room for more, in memory that begins with what is there.
func (r *ring) grow(memory []byte) {
	r.lost = r.oldest()
	kept := make([]byte, r.total-r.lost)
	r.get(kept, r.lost)
	r.data = memory
	r.total -= int64(len(kept))
	r.put(kept)
}

// get copies what is kept from an offset on, which lies between oldest and total.
func (r *ring) get(p []byte, from int64) (n int) {
	p = p[:min(int64(len(p)), r.total-from)]
	for n < len(p) {
		n += copy(p[n:], r.data[(from+int64(n))%int64(len(r.data)):])
	}
	return n
}

// mapping is memory outside of Go's heap: a page of it exists only once it has
// been written to, all is given back at once, and the collector, which is held
// to a few megabytes (see boundMemory), does not count it.
type mapping []byte

func newMapping(size int) (mapping, error) {
	kernel.Lock()
	defer kernel.Unlock()
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err == nil {
		unix.Madvise(m, unix.MADV_NOHUGEPAGE) // one would take 2 MiB for a byte
	}
	return m, err
}

// free gives it back. Whatever still reads or writes it would end the guest.
func (m mapping) free() {
	kernel.Lock()
	defer kernel.Unlock()
	unix.Munmap(m)
}
