package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// greedy takes all that it can get of everything that is limited.
const greedy = `
for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done
cat /dev/zero > /tmp/x 2>/dev/null; cat /dev/zero > /dev/shm/x 2>/dev/null
(while :; do tail -c 300m /dev/zero > /dev/null; done) 2>/dev/null &
i=0; while [ $i -lt 900 ]; do eval "exec $((i+10))</dev/null" 2>/dev/null || break; i=$((i+1)); done
python3 -c '
import os, time
try:
    while os.fork(): pass
except OSError: pass
time.sleep(100)'
wait`

// TestNeighbours: of four sandboxes one takes all it can. What it gets is its share,
// by the kernel's own accounts; the work of the others, which is printed, goes on
// without an error. How fast it goes is up to whatever else the machine does.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	s := start(t)
	hostile := s.create(args{"image": base, "cpus": 0.5, "memory_mb": 128, "pids_limit": 64})
	var others [3]*sandbox
	for i := range others {
		others[i] = s.create(args{"cpus": 0.25})
		others[i].must("echo marker > marker")
	}
	work := func() (done [3]int) {
		repeat(t, 3, 3, func(i int) error {
			out, err := others[i].trySh(`n=0; end=$(($(date +%s)+2)); while [ $(date +%s) -lt $end ]; do echo $n > f; cat f > g; n=$((n+1)); done; echo $n`)
			fmt.Sscan(out.Stdout, &done[i])
			if err == nil && (out.ExitCode != 0 || done[i] == 0) {
				err = fmt.Errorf("sandbox %d: %+v", i, out)
			}
			return err
		})
		return done
	}
	before := work()
	began, used := time.Now(), hostile.cpuTime()
	stop := hostile.inWhile(greedy)
	during := work()
	for _, b := range others {
		b.unharmed()
		b.snapshot("meanwhile")
	}
	share := float64(hostile.cpuTime()-used) / float64(time.Since(began))
	memory, processes := hostile.account("memory.current", "memory/memory.usage_in_bytes"), hostile.account("pids.current", "pids/pids.current")
	stop()
	t.Logf("M5 work of the others alone %v, beside the hostile one %v; it had %.2f processors of 0.5, %d MiB of 128, %d processes of 64", before, during, share, memory>>20, processes)
	if share > 0.7 {
		t.Errorf("it had %.2f processors, and may have 0.5", share)
	}
	if memory > 128<<20 {
		t.Errorf("it had %d bytes of memory, and may have 128 MiB", memory)
	}
	if processes > 64+20 { // its init's own
		t.Errorf("it had %d processes, and may have 64", processes)
	}
	hostile.alive()
}

// account is a number that the kernel keeps of a sandbox, by its name in either
// version of cgroups. Reading it as a file needs no process.
func (b *sandbox) account(v2, v1 string) (n int64) {
	b.t.Helper()
	for _, name := range []string{v2, v1} {
		var text struct{ Content string }
		if b.Call(ctx(b.t), "read_file", args{"sandbox_id": b.ID, "path": "/sys/fs/cgroup/" + name}, &text) == nil {
			fmt.Sscan(strings.TrimPrefix(text.Content, "usage_usec "), &n)
			return n
		}
	}
	b.t.Fatalf("neither %s nor %s", v2, v1)
	return 0
}

// cpuTime is how long a sandbox had a processor.
func (b *sandbox) cpuTime() time.Duration {
	b.t.Helper()
	n := time.Duration(b.account("cpu.stat", "cpuacct/cpuacct.usage"))
	if r, err := try[struct{ Content string }](b.server, "read_file", args{"sandbox_id": b.ID, "path": "/sys/fs/cgroup/cpu.stat"}); err == nil && strings.HasPrefix(r.Content, "usage_usec") {
		n *= time.Microsecond
	}
	return n
}
