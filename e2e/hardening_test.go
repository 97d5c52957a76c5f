package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestHardening: how a sandbox is closed in, seen from inside and from the
// daemon; the same for a fresh one, a fork, and after rollback and restart.
func TestHardening(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.create(args{"image": base})
	b.must("echo x > f")
	check := func(t *testing.T, b *sandbox) {
		fromInside(b.in(t))
		byInspect(b.in(t))
		noNetwork(b.in(t))
		noSecrets(b.in(t))
	}
	t.Run("M2 M4 K1 fresh", func(t *testing.T) { check(t, b) })
	snap := b.snapshot("x")
	t.Run("M2 M4 K1 rolled back", func(t *testing.T) { b.in(t).rollback(snap.ID); check(t, b) })
	t.Run("M2 M4 K1 forked", func(t *testing.T) { check(t, s.in(t).fork(snap.ID)) })
	t.Run("M2 M4 K1 restarted", func(t *testing.T) { s.in(t).restart(); check(t, b) })
	runCases(t, s, []testCase[*server]{
		{"M1 K3 no say in the container", noSay},
	})
}

func fromInside(b *sandbox) {
	status := b.must("id -u; id -g; hostname; pwd; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -s '\\t ' ' '")
	none := "0000000000000000"
	want := "1000\n1000\nsandbox\n/workspace\nCapInh: " + none + "\nCapPrm: " + none + "\nCapEff: " + none + "\nCapBnd: " + none +
		"\nCapAmb: " + none + "\nNoNewPrivs: 1\nSeccomp: 2\n"
	if status != want {
		b.t.Errorf("got %q, want %q", status, want)
	}
	mustFail(b, slices.Concat(forbidden, forbiddenOnLinux))
	mounts := b.must("grep -E ' (/workspace|/tmp|/) ' /proc/mounts | awk '{print $2, $4}'")
	for _, line := range strings.Split(strings.TrimSpace(mounts), "\n") {
		where, options, _ := strings.Cut(line, " ")
		has := strings.Split(options, ",")
		if where == "/" && !slices.Contains(has, "ro") || where == "/tmp" && (!slices.Contains(has, "nosuid") || !slices.Contains(has, "nodev") || slices.Contains(has, "noexec")) {
			b.t.Errorf("%s is mounted %s", where, options)
		}
	}
	rootStays(b)
}

// forbidden must fail under every runtime, forbiddenOnLinux where the kernel is the
// host's.
var (
	forbidden = []string{
		"touch /etc/x", "touch /usr/x", "touch /x", "mkdir /mnt/x", "mount -t tmpfs x /mnt",
		"ls -l /var/run/docker.sock /run/docker.sock", "su -c id", "mknod b b 8 0",
		"chown 0:0 f", "echo x > /proc/sys/kernel/hostname", "echo x > /sys/kernel/mm/transparent_hugepage/enabled",
		"echo 1 > /proc/sysrq-trigger", "cat /proc/kcore", "hostname other", "touch /.mcp-sandbox/x", "rm /.mcp-sandbox/guest",
	}
	forbiddenOnLinux = []string{"unshare -Ur true", "mknod /tmp/b c 1 3", "dmesg"}
)

func mustFail(b *sandbox, commands []string) {
	for _, c := range commands {
		if r := b.sh(c); r.ExitCode == 0 {
			b.t.Errorf("%s works: %q", c, r.Stdout)
		}
	}
}

// rootStays: nothing but /tmp and /workspace can be written.
func rootStays(b *sandbox) {
	dirs := b.sh("find / -xdev -type d -writable -not -path /tmp -not -path /workspace 2>/dev/null")
	for _, path := range strings.Fields(dirs.Stdout) {
		if r := b.sh("touch " + path + "/zz"); r.ExitCode == 0 {
			b.t.Errorf("%s can be written", path)
		}
	}
}

func byInspect(b *sandbox) {
	i := b.inspect(string(b.ID))
	h := i.HostConfig
	processes := b.PidsLimit + 64
	if h.Runtime == gvisorRuntime { // of which the host counts threads
		processes *= 16
	}
	for what, ok := range map[string]bool{
		"capabilities": slices.Equal(h.CapDrop, []string{"ALL"}) && len(h.CapAdd) == 0,
		"privileged":   !h.Privileged,
		"security":     slices.ContainsFunc(h.SecurityOpt, func(o string) bool { return strings.HasPrefix(o, "no-new-privileges") }) && !strings.Contains(strings.Join(h.SecurityOpt, " "), "unconfined"),
		"read-only":    h.ReadonlyRootfs,
		"network":      h.NetworkMode == "none",
		"ipc":          h.IpcMode == "private" || h.IpcMode == "none",
		"pid and uts":  h.PidMode == "" && h.UTSMode == "",
		"memory":       h.Memory == b.MemoryMB<<20 && h.MemorySwap == h.Memory,
		"cpu":          h.NanoCpus == int64(b.CPUs*1e9) || h.CpuPeriod > 0 && float64(h.CpuQuota) == b.CPUs*float64(h.CpuPeriod),
		"processes":    h.PidsLimit != nil && *h.PidsLimit > 0 && *h.PidsLimit <= processes,
		"shm":          h.ShmSize > 0 && h.ShmSize <= 64<<20,
		"log":          h.LogConfig.Type == "none",
		"restart":      h.RestartPolicy.Name == "" || h.RestartPolicy.Name == "no",
		"devices":      len(h.Devices) == 0 && !h.PublishAllPorts,
		"user":         i.Config.User == "1000:1000",
		"hostname":     i.Config.Hostname == "sandbox",
		"labels":       i.Config.Labels["io.agent-sandbox.managed"] == "true" && i.Config.Labels["io.agent-sandbox.instance"] == b.instance,
	} {
		if !ok {
			b.t.Errorf("%s: %+v", what, i)
		}
	}
	volumes := 0
	for _, m := range i.Mounts {
		if m.Type == "volume" && m.Destination == "/workspace" && m.RW {
			volumes++
		} else if m.Type != "tmpfs" {
			b.t.Errorf("mounted: %+v", m)
		}
	}
	if volumes != 1 || len(h.Binds) > 1 {
		b.t.Errorf("mounts %+v, binds %v", i.Mounts, h.Binds)
	}
}

func noNetwork(b *sandbox) {
	out := b.python(`
import os, socket, time
print(sorted(os.listdir("/sys/class/net")))
for family, kind, to in [(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 80)), (socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)),
        (socket.AF_INET, socket.SOCK_STREAM, ("172.17.0.1", 2375)), (socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700::1111", 80)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53))]:
    began = time.time()
    try:
        s = socket.socket(family, kind)
        s.settimeout(5)
        s.connect(to)
        s.send(b"x")
        print("reached", to)
    except OSError as e:
        if time.time() - began > 2:
            print("slow", to, e)
try:
    print("resolved", socket.getaddrinfo("example.com", 80))
except OSError:
    pass
`)
	if strings.TrimSpace(out) != "['lo']" {
		b.t.Errorf("got %q", out)
	}
}

func noSecrets(b *sandbox) {
	out := b.sh("env; cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cat /proc/mounts").Stdout
	for _, secret := range []string{b.dir, "AGENT_SANDBOX", "DOCKER_HOST"} {
		if strings.Contains(out, secret) {
			b.t.Errorf("%q is to be seen inside", secret)
		}
	}
}

func noSay(s *server) {
	for field, value := range map[string]any{
		"binds": []string{"/:/host"}, "mounts": []any{}, "volumes": map[string]any{}, "privileged": true, "cap_add": []string{"ALL"},
		"devices": []any{}, "pid_mode": "host", "user": "0", "security_opt": []string{}, "entrypoint": "sh", "network_mode": "host",
	} {
		err := s.refuse("sandbox_create", args{field: value}, schemas.CodeInvalidRequest)
		if err != nil && !strings.Contains(err.Error(), field) {
			s.t.Errorf("%s: the message does not name it: %v", field, err)
		}
	}
	for _, network := range []any{"none", "NONE", "none ", "host", 1, []string{}} {
		s.refuse("sandbox_create", args{"network": network}, schemas.CodeInvalidRequest)
	}
	s.refuse("sandbox_create", args{"env": map[string]any{"A": 1}}, schemas.CodeInvalidRequest)
	strict := start(s.t, "--no-allow-network", "--allowed-images=mcp-sandbox/*")
	strict.refuse("sandbox_create", args{"network": true}, schemas.CodeForbidden)
	strict.refuse("sandbox_create", args{"image": "alpine"}, schemas.CodeForbidden)
	strict.create(args{"image": busybox}).alive()
}
