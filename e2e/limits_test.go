package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestLimits: memory, processes, disk; and what is usable afterwards.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := start(t, "--tmp-size-mb=64")
	runCases(t, s, []testCase[*server]{
		{"L2 L3 out of memory", outOfMemory},
	})
	b := s.create(args{"pids_limit": 128, "memory_mb": 256})
	b.must("echo marker > marker")
	runCases(t, b, []testCase[*sandbox]{
		{"L4 fork bomb", forkBomb},
		{"L4 process limit reached and kept", processLimit},
		{"L5 orphans are reaped", orphans},
		{"L8 tmp is full", fullTmp},
		{"L8 shm is full", fullShm},
		{"L8 workspace takes much", muchInWorkspace},
	})
	b.unharmed()
}

// unharmed checks that a sandbox is still the same and does all it should.
func (b *sandbox) unharmed() {
	b.t.Helper()
	b.alive()
	took(b.t, 5*time.Second, "write_file and read_file", func() {
		b.write("probe", "probe\n")
		if r := b.read("probe"); r.Content != "probe\n" {
			b.t.Errorf("read %q", r.Content)
		}
	})
	if out := b.must("cat marker"); out != "marker\n" {
		b.t.Errorf("the marker is %q", out)
	}
}

const eatMemory = `python3 -c "x = bytearray(1 << 30); print(len(x))"`

func outOfMemory(s *server) {
	b := s.create(args{"image": base, "memory_mb": 128})
	b.must("echo marker > marker")
	if r := b.sh(eatMemory); r.ExitCode != 137 || !r.OOMKilled || r.TimedOut {
		s.t.Errorf("alone: %+v", r)
	}
	if r := b.sh(eatMemory + "; echo after"); !r.OOMKilled || r.Stdout != "after\n" || r.ExitCode != 0 {
		s.t.Errorf("in a shell: %+v", r)
	}
	for command, more := range map[string]args{
		"kill -9 $$": {}, "exit 137": {}, "sleep 9": {"timeout_seconds": 0.5}, "echo ok": {}, "sleep 9 & kill -9 $!; wait": {},
	} {
		if r := b.sh(command, more); r.OOMKilled {
			s.t.Errorf("%s right after an OOM kill: %+v", command, r)
		}
	}
	// tmpfs is memory too; the init is killed last.
	b.sh("head -c 120m /dev/zero > /tmp/x; " + eatMemory)
	b.must("rm -f /tmp/x")
	for range count(3, 20) {
		repeat(s.t, 4, 4, func(int) error {
			_, err := b.trySh(eatMemory)
			return err
		})
	}
	b.unharmed()
}

func forkBomb(b *sandbox) {
	const bomb = `bomb() { bomb | bomb & }; (bomb); exec sleep 60` // this shell itself needs no process that the bomb has taken
	wait := inBackground(func() {
		if r, err := b.trySh(bomb, args{"timeout_seconds": 4}); err != nil || !r.TimedOut {
			b.t.Errorf("the bomb: %+v, %v", r, err)
		}
	})
	wait()
	b.unharmed()
	if n := processes(b); n != 0 {
		b.t.Errorf("%d processes are left", n)
	}
	snap := b.snapshot("after the bomb")
	b.rollback(snap.ID)
	b.unharmed()
}

// processLimit: at the limit calls may fail, but in a way that says why, and
// they work again when the load is gone. File calls need no process at all.
func processLimit(b *sandbox) {
	r := b.sh(`i=0; while [ $i -lt 300 ]; do sleep 300 & i=$((i+1)); done; echo all`, args{"timeout_seconds": 20})
	if strings.Contains(r.Stdout, "all") && r.Stderr == "" {
		b.t.Errorf("no limit was met: %+v", r)
	}
	took(b.t, 5*time.Second, "file calls at the limit", func() {
		b.write("probe", "probe\n")
		b.read("probe")
		b.files("/workspace")
	})
	took(b.t, 10*time.Second, "exec at the limit", func() { b.trySh("true") })
	took(b.t, 10*time.Second, "snapshot at the limit", func() { b.snapshot("at the limit") })
	eventually(b.t, 10*time.Second, "the load can be removed", func() (bool, any) {
		_, err := try[schemas.ExecResult](b.server, "exec", args{"sandbox_id": b.ID, "argv": []string{"killall", "-9", "sleep"}})
		return processesOrNone(b) == 0, err
	})
	b.unharmed()
}

func processesOrNone(b *sandbox) int {
	r, err := b.trySh(`set -- /proc/[0-9]*; echo $(($#-2))`)
	n := -1
	if err == nil && r.ExitCode == 0 {
		fmt.Sscan(r.Stdout, &n)
	}
	return n
}

func orphans(b *sandbox) {
	for range 3 {
		b.sh(`i=0; while [ $i -lt 300 ]; do (sh -c "sleep 0.05 &") ; i=$((i+1)); done; sleep 0.5`, args{"timeout_seconds": 60})
	}
	eventually(b.t, 5*time.Second, "no zombies and no orphans", func() (bool, any) {
		n := processes(b)
		return n == 0, n
	})
}

func fullTmp(b *sandbox) {
	r := b.sh("cat /dev/zero > /tmp/x || ls -l /tmp/x | awk '{print $5}'")
	if r.OOMKilled || strings.TrimSpace(r.Stdout) != "67108864" || !strings.Contains(r.Stderr, "space") {
		b.t.Errorf("got %+v", r)
	}
	b.unharmed()
	b.must("rm /tmp/x; echo x > /tmp/y")
}

func fullShm(b *sandbox) {
	r := b.sh("cat /dev/zero > /dev/shm/x; du -m /dev/shm 2>/dev/null | awk '{print $1}'")
	var used int
	fmt.Sscan(r.Stdout, &used)
	if r.OOMKilled || used > 64 {
		b.t.Errorf("%d MiB fitted: %+v", used, r)
	}
	b.unharmed()
	b.sh("rm -f /dev/shm/x")
}

// muchInWorkspace is bounded: the volume is on the host's disk.
func muchInWorkspace(b *sandbox) {
	if r := b.sh("head -c 300m /dev/zero > fill; wc -c < fill"); r.OOMKilled || strings.TrimSpace(r.Stdout) != itoa(300<<20) {
		b.t.Errorf("got %+v", r)
	}
	b.unharmed()
	b.must("rm fill")
}
