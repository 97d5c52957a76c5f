package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

// gvisorRuntime is its name and gvisorConf what docs/gvisor.md tells operators to
// give their daemon.
const (
	gvisorRuntime = "runsc"
	gvisorConf    = `{"runtimes": {"runsc": {"path": "runsc", "runtimeArgs": ["--network=none"]}}}`
)

// TestGVisor: what holds under Docker's own runtime holds under gVisor's, on a
// daemon that has it.
func TestGVisor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	installed(t, "runsc")
	d := startDockerdWith(t, 2048, gvisorConf, busybox, base)
	serve := func(t *testing.T, more ...string) *server {
		keys := "AGENT_SANDBOX_API_KEYS=alice:" + aliceKey + ",bob:" + bobKey
		p := program{door: client.REST, dockerHost: d.host(), env: []string{keys}}
		return launch(t, p, append(more, "--docker-runtime="+gvisorRuntime, "--max-sandboxes=6")...)
	}
	t.Run("work", func(t *testing.T) {
		t.Parallel()
		gvisorWork(t, serve(t, poolOfTwo))
	})
	t.Run("isolation", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		runCases(t, s, []testCase[*server]{
			{"a sandbox that ends its own init comes back", initEnded},
			{"doctor", doctorTellsRuntime},
			{"a dev server, and all that ends it", func(s *server) { s.empty(); devServer(s) }},
			{"probes", gvisorProbes},
		})
	})
}

func gvisorWork(t *testing.T, s *server) {
	b := s.create(args{"name": "agent", "env": map[string]string{"WHO": "agent"}})
	runCases(t, b, scenarios)
	runCases(t, b, []testCase[*sandbox]{
		{"A11 what cannot be run", missingCommand},
		{"many processes", manyProcesses},
		{"a cancelled command", cancelKills},
		{"children that left the group", childrenThatLeft},
		{"a hand-over loses nothing", handOver},
		{"background signals", backgroundSignals},
		{"background kill takes all that it has started", backgroundKill},
		{"a terminal", terminalShell},
		{"a large paste", terminalPaste},
		{"a terminal's client that vanishes", terminalVanish},
		{"a terminal outlives the server", terminalOutlivesServer},
	})
	runCases(t, s, []testCase[*server]{
		{"list, set timeout, destroy", listSetDestroy},
		{"destroy ends a command", destroyUnderCommand},
		{"restart keeps the sandboxes", restartKeeps},
	})
}

// manyProcesses: the host counts several threads for each, and gVisor ends when it
// can have no more.
func manyProcesses(b *sandbox) {
	b.must("touch /tmp/before; for i in $(seq 120); do sleep 1 & done; wait; ls /tmp/before")
}

func missingCommand(b *sandbox) {
	took(b.t, 5*time.Second, "a missing command", func() {
		if r := b.sh("no-such-program"); r.ExitCode != 127 {
			b.t.Errorf("got %+v", r)
		}
	})
	took(b.t, 5*time.Second, "a missing program", func() { cannotRun(b) })
}

// gvisorProbes are what TestIsolation looks at, but for what gVisor's kernel allows
// within itself (docs/gvisor.md).
func gvisorProbes(s *server) {
	b := s.create(args{"image": base})
	b.must("echo x > f")
	snap := b.snapshot("x")
	for name, b := range map[string]*sandbox{"fresh": b, "forked": s.fork(snap.ID)} {
		s.t.Run("M2 M4 K1 "+name, func(t *testing.T) {
			b := b.in(t)
			insideGVisor(b)
			byInspect(b)
			noNetwork(b)
			noSecrets(b)
		})
	}
}

func insideGVisor(b *sandbox) {
	const none = "0000000000000000"
	status := b.must("dmesg | grep -c gVisor; id -u; id -g; hostname; pwd; grep -E '^Cap(Prm|Eff|Bnd)|^Seccomp:' /proc/self/status | tr -s '\\t ' ' '")
	if want := "1\n1000\n1000\nsandbox\n/workspace\nCapPrm: " + none + "\nCapEff: " + none + "\nCapBnd: " + none + "\nSeccomp: 2\n"; status != want {
		b.t.Errorf("got %q, want %q", status, want)
	}
	const noNewPrivs = 39
	if out := b.python("import ctypes; print(ctypes.CDLL(None).prctl(" + fmt.Sprint(noNewPrivs) + ", 0, 0, 0, 0))"); out != "1\n" {
		b.t.Errorf("no_new_privs is %q", out)
	}
	mustFail(b, forbidden)
	// Root of a user namespace, and maker of devices, of gVisor's and of nothing else.
	mustFail(b, []string{
		"unshare -Urm sh -c 'mount -o remount,rw / && touch /etc/x'",
		"unshare -Ur touch /etc/x",
		"unshare -Ur chown 0:0 f && [ $(stat -c %u f) = 0 ]",
		"mknod /tmp/disk b 8 0 && head -c 1 /tmp/disk",
		"mknod /tmp/mem c 1 1 && head -c 1 /tmp/mem",
		"mknod /tmp/kmsg c 1 11 && head -c 1 /tmp/kmsg",
	})
	rootStays(b)
}

// initEnded: gVisor lets a sandbox end its own first process, which must cost it no
// more than what it was running.
func initEnded(s *server) {
	b := s.create()
	b.must("echo kept > f")
	b.trySh("kill -9 1; sleep 1")
	if out := b.must("cat f"); out != "kept\n" {
		s.t.Errorf("got %q", out)
	}
}

func doctorTellsRuntime(s *server) {
	for runtime, want := range map[string]string{"runsc": "ok       runtime         runsc", "runsc-none": "PROBLEM  docker          Docker has no runtime"} {
		cmd := exec.Command(s.launch().Binary, "doctor", "--data-dir="+s.dir, "--default-image="+busybox, "--docker-runtime="+runtime)
		cmd.Env = append(cmd.Environ(), "DOCKER_HOST="+s.dockerHost)
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), want) {
			s.t.Errorf("runtime %s: no %q in\n%s", runtime, want, out)
		}
	}
}
