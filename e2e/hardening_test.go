package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestHardening: callers cannot take from a sandbox what closes it in. That it is
// closed in is for TestIsolation; what follows here besides are the probes for
// runtimes with a kernel of their own, which take a shell.
func TestHardening(t *testing.T) {
	t.Parallel()
	runCases(t, start(t), []testCase[*server]{
		{"M1 K3 no say in the container", noSay},
	})
}

// forbidden must fail under every runtime.
var forbidden = []string{
	"touch /etc/x", "touch /usr/x", "touch /x", "mkdir /mnt/x", "mount -t tmpfs x /mnt",
	"ls -l /var/run/docker.sock /run/docker.sock", "su -c id", "mknod b b 8 0",
	"chown 0:0 f", "echo x > /proc/sys/kernel/hostname", "echo x > /sys/kernel/mm/transparent_hugepage/enabled",
	"echo 1 > /proc/sysrq-trigger", "cat /proc/kcore", "hostname other", "touch /.mcp-sandbox/x", "rm /.mcp-sandbox/guest",
}

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
	s.refuse("sandbox_create", args{"env": map[string]any{"A": []string{}}}, schemas.CodeInvalidRequest)
	strict := start(s.t, "--no-allow-network", "--allowed-images=mcp-sandbox/*")
	strict.refuse("sandbox_create", args{"network": true}, schemas.CodeForbidden)
	strict.refuse("sandbox_create", args{"image": "alpine"}, schemas.CodeForbidden)
	strict.create(args{"image": busybox}).alive()
}
