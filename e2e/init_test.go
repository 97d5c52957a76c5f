package e2e

import (
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestInit: the sandbox's own processes cannot end, stop, read or starve its
// init, and after every try the next command works.
func TestInit(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.create()
	b.must("echo marker > marker")
	container := b.containerOf(string(b.ID))
	runCases(t, b, []testCase[*sandbox]{
		{"kill with every signal", everySignal},
		{"kill everything", killEverything},
		{"read its memory and secrets", readInit},
		{"trace it", traceInit},
		{"limit it", limitInit},
		{"its streams", initStreams},
		{"starve it", starveInit},
	})
	if now := b.containerOf(string(b.ID)); now != container {
		t.Errorf("the container was replaced: %s, was %s", now, container)
	}
	if restarts := mustDocker(t, "inspect", "-f", "{{.State.StartedAt}} {{.Created}}", container); restarts == "" {
		t.Error("the container is gone")
	}
}

func everySignal(b *sandbox) {
	started := mustDocker(b.t, "inspect", "-f", "{{.State.StartedAt}}", b.containerOf(string(b.ID)))
	for signal := 1; signal <= 64; signal++ {
		b.sh("kill -" + itoa(signal) + " 1")
	}
	b.unharmed()
	b.sh("i=0; while [ $i -lt 2000 ]; do kill -CHLD 1; kill -USR1 1; kill -PIPE 1; i=$((i+1)); done")
	b.unharmed()
	if now := mustDocker(b.t, "inspect", "-f", "{{.State.StartedAt}}", b.containerOf(string(b.ID))); now != started {
		b.t.Errorf("the container was started again at %s; first at %s", now, started)
	}
}

func killEverything(b *sandbox) {
	for _, signal := range []string{"9", "STOP", "TERM", "SEGV"} {
		b.sh("kill -"+signal+" -1", args{"timeout_seconds": 2})
		b.unharmed()
	}
	b.sh("kill -CONT -1")
}

func readInit(b *sandbox) {
	for _, path := range []string{"/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/auxv", "/proc/1/stack"} {
		if r := b.sh("head -c 100 " + path); r.ExitCode == 0 && r.Stdout != "" {
			b.t.Errorf("%s can be read: %q", path, r.Stdout)
		}
	}
	for _, command := range []string{"ls /proc/1/fd/", "ls /proc/1/fdinfo", "readlink /proc/1/exe", "readlink /proc/1/cwd", "ls /proc/1/root/", "ls /proc/1/map_files/", "ls /proc/1/task/1/fd/"} {
		if r := b.sh(command); r.ExitCode == 0 && strings.TrimSpace(r.Stdout) != "" {
			b.t.Errorf("%s works: %q", command, r.Stdout)
		}
	}
	b.unharmed()
}

func traceInit(b *sandbox) {
	other := b.create(args{"image": base})
	other.must("echo marker > marker")
	out := other.python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
ATTACH, SEIZE = 16, 0x4206
for request in (ATTACH, SEIZE):
    print(libc.ptrace(request, 1, None, None))
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
buf = ctypes.create_string_buffer(16)
local, remote = iovec(ctypes.addressof(buf), 16), iovec(0x400000, 16)
print(libc.process_vm_readv(1, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))
`)
	if strings.Fields(out)[0] != "-1" || strings.Fields(out)[1] != "-1" || strings.Fields(out)[2] != "-1" {
		b.t.Errorf("ptrace and process_vm_readv: %q", out)
	}
	other.unharmed()
}

// limitInit: nobody may take descriptors, processor time or memory from it.
func limitInit(b *sandbox) {
	for _, change := range []string{
		"resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))",
		"resource.prlimit(pid, resource.RLIMIT_NPROC, (0, 0))",
		"resource.prlimit(pid, resource.RLIMIT_AS, (0, 0))",
		"resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))",
		"os.setpriority(os.PRIO_PROCESS, pid, 19)",
		"os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))",
		"open(f'/proc/{pid}/oom_score_adj', 'w').write('1000')",
	} {
		other := b.create(args{"image": base})
		other.must("echo marker > marker")
		container := other.containerOf(string(other.ID))
		started := mustDocker(b.t, "inspect", "-f", "{{.State.StartedAt}}", container)
		// Its threads have numbers of their own, which are not listed.
		r, err := try[schemas.ExecResult](b.server, "exec", args{"sandbox_id": other.ID, "timeout_seconds": 10, "argv": []string{"python3", "-c", `
import os, resource
for pid in range(1, 32):
    try:
        if pid != os.getpid():
            ` + change + `
            print(pid, end=" ")
    except OSError:
        pass
`}})
		if err != nil || r.Stdout != "" {
			b.t.Errorf("%s works on %q, %v", change, r.Stdout, err)
		}
		if _, err := other.trySh("true"); err != nil {
			b.t.Errorf("after %s: %v", change, err)
		}
		if now := mustDocker(b.t, "inspect", "-f", "{{.State.StartedAt}}", container); now != started {
			b.t.Errorf("after %s the container was started again", change)
		}
		check(b.t, b.destroy(other.ID))
	}
}

// initStreams: what is written to where the init's channel might be is not ours.
func initStreams(b *sandbox) {
	b.sh(`for f in /proc/1/fd/0 /proc/1/fd/1 /dev/console /dev/pts/0; do head -c 1000 /dev/urandom > $f; done; timeout 1 cat /proc/1/fd/0 | wc -c`)
	b.unharmed()
}

func starveInit(b *sandbox) {
	b.sh(`for i in 1 2 3 4 5 6 7 8 9 10; do (while :; do :; done) & done; ulimit -n 64; yes | head -c 200000000 | cat | cat > /dev/null`, args{"timeout_seconds": 3})
	b.unharmed()
	b.sh(`exec 3</dev/null; i=4; while [ $i -lt 900 ]; do eval "exec $i</dev/null" 2>/dev/null || break; i=$((i+1)); done; echo $i`)
	b.unharmed()
}
