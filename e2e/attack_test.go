package e2e

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"
)

// attackProgram tries things and prints what worked that must not.
//
//go:embed testdata/attack.py
var attackProgram string

// TestAttackGuest: what a command does to the init of its own sandbox, by every
// call that one process has for another, and by using up what both live on. After
// each the sandbox is what it was and does all it should.
func TestAttackGuest(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.create(args{"image": base, "pids_limit": 128, "memory_mb": 256})
	b.must("echo marker > marker")
	b.write("attack.py", attackProgram)
	container := b.containerOf(string(b.ID))
	started := func() string { return mustDocker(t, "inspect", "-f", "{{.Id}} {{.State.StartedAt}}", container) }
	before, files := started(), openFiles(s)
	flat(s, func() {
		for _, c := range []testCase[*sandbox]{
			{"signals of every number and kind", tried("signals")},
			{"ptrace and memory", tried("memory")},
			{"its files in /proc, and the kernel's", tried("proc")},
			{"its limits and its share of the processor", tried("limits")},
			{"name spaces, mounts, keys and the kernel", tried("spaces")},
			{"cgroups", tried("cgroups")},
			{"forged frames", forgedFrames},
			{"no descriptor is inherited", noDescriptors},
			{"starved of processes", starved("exec python3 -c '" + manyChildren + "'")},
			{"starved of threads", starved("exec python3 -c '" + manyThreads + "'")},
			{"starved of descriptors", starved("for i in 1 2 3 4; do python3 -c '" + manyDescriptors + "' & done; wait")},
			{"starved of memory", starved(`head -c 120m /dev/zero > /tmp/x; while :; do tail -c 300m /dev/zero > /dev/null; done`)},
			{"starved of the processor", starved(`i=0; while [ $i -lt 40 ]; do (while :; do :; done) & i=$((i+1)); done; wait`)},
			{"output floods", outputFloods},
		} {
			t.Run("M4 "+c.id, func(t *testing.T) {
				b := b.in(t)
				c.run(b)
				b.unharmed()
				if now := started(); now != before {
					t.Errorf("the container is %s, was %s", now, before)
				}
				if n := processes(b); n != 0 {
					t.Errorf("%d processes are left", n)
				}
			})
		}
	})
	snap := b.snapshot("after all")
	s.fork(snap.ID).unharmed()
	eventually(t, 10*time.Second, "the server has as many open files as before", func() (bool, any) {
		now := openFiles(s)
		return now <= files+8, fmt.Sprintf("%d, before %d", now, files)
	})
}

// tried runs one part of the attack program, of which nothing may work.
func tried(part string) func(*sandbox) {
	return func(b *sandbox) {
		if worked := strings.TrimSpace(b.must("python3 attack.py "+part, args{"timeout_seconds": 60})); worked != "" {
			b.t.Errorf("these worked:\n%s", worked)
		}
	}
}

// forgedFrames: what looks like the protocol is output, and what is written to
// other descriptors goes nowhere.
func forgedFrames(b *sandbox) {
	const forged = `\003\000\000\000\055{"exit_code":0,"stdout_bytes":0,"duration":1}`
	const settings = `\000\000\000\004\000\000\000\000\000\000\000\002\007\000\000\000\000\000\000\000`
	tried("forge")(b)
	out := b.must("printf '" + forged + settings + "'")
	if want := "\x03\x00\x00\x00-{\"exit_code\":0,\"stdout_bytes\":0,\"duration\":1}\x00\x00\x00\x04"; !strings.HasPrefix(out, want) {
		b.t.Errorf("got %q, want it to begin with %q", out, want)
	}
	if r := b.sh("printf '" + forged + "' >&2; exit 7"); r.ExitCode != 7 || len(r.Stderr) != 50 {
		b.t.Errorf("got %+v", r)
	}
}

// noDescriptors of the guest's are to be found in a command.
func noDescriptors(b *sandbox) {
	const list = `exec python3 -c 'import os; print(*[fd for fd in range(4096) if os.path.lexists(f"/proc/self/fd/{fd}")])'`
	for _, more := range []args{{}, {"stdin": "x"}, {"timeout_seconds": 30}} {
		if out := b.must(list, more); out != "0 1 2\n" {
			b.t.Errorf("a command has the descriptors %q", out)
		}
	}
}

const (
	manyChildren = `
import os, time
try:
    while os.fork(): pass
except OSError: print("no more", flush=True)
time.sleep(100)`
	manyThreads = `
import threading, time
try:
    while True: threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
except RuntimeError: print("no more", flush=True); time.sleep(100)`
	manyDescriptors = `
import os, select, socket, time
kept = []
try:
    while True: kept += [*os.pipe(), *socket.socketpair(), select.epoll(), os.eventfd(1)]
except OSError: print("no more", flush=True); time.sleep(100)`
)

// starved is at a limit for three seconds. Files go on meanwhile and a snapshot is
// made; a command runs, or is refused with a reason.
func starved(command string) func(*sandbox) {
	return func(b *sandbox) {
		wait := inBackground(func() {
			if _, err := b.trySh(command, args{"timeout_seconds": 3}); err != nil {
				b.t.Errorf("the command: %v", err)
			}
		})
		defer b.sh("rm -f /tmp/x")
		defer wait()
		took(b.t, 30*time.Second, "calls meanwhile", func() {
			b.write("probe", "probe\n")
			b.read("probe")
			b.files("/workspace")
			b.snapshot("meanwhile")
			b.trySh("true")
		})
	}
}

// outputFloods of several commands at once, that nobody asked for.
func outputFloods(b *sandbox) {
	flat(b.server, func() {
		repeat(b.t, 4, 4, func(int) error {
			r, err := b.trySh("yes & yes >&2 & yes > /dev/full & tr '\\0' '\\377' < /dev/zero", args{"timeout_seconds": 2, "max_output_bytes": 1000})
			if err == nil && (!r.TimedOut || len(r.Stdout) > 5000) {
				err = fmt.Errorf("%d bytes, timed out: %t", len(r.Stdout), r.TimedOut)
			}
			return err
		})
	})
}
