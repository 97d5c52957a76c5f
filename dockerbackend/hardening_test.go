package dockerbackend

import (
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
)

// TestHardening looks at a running sandbox from both sides. What inspect says
// is what Docker made of our wishes; what /proc says is what the kernel did.
func TestHardening(t *testing.T) {
	r := newRig(t)
	t.Run("created", func(t *testing.T) { testHardening(t, r, r.create(spec(busybox))) })
	t.Run("adopted", func(t *testing.T) {
		made := spec(busybox)
		made.CPUs, made.PidsLimit = 2, 100
		box := r.create(made)
		r.adopt(box, spec(busybox))
		testHardening(t, r, box)
	})
}

func testHardening(t *testing.T, r *rig, box *sandbox) {
	t.Run("inspect", func(t *testing.T) { checkInspect(t, r.inspect(box.ref.Container)) })
	for _, c := range []struct{ name, command, want string }{
		{"user", "id -u; id -g; id -G", "1000\n1000\n1000\n"},
		{"capabilities", "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -cv 0000000000000000 || true", "0\n"},
		{"no new privileges", "grep NoNewPrivs /proc/self/status | tr -d '\\t'", "NoNewPrivs:1\n"},
		{"seccomp", "grep '^Seccomp:' /proc/self/status | tr -d '\\t'", "Seccomp:2\n"},
		{"hostname", "hostname", "sandbox\n"},
		{"interfaces", "ls /sys/class/net", "lo\n"},
		{"first process", "cat /proc/1/comm", "guest\n"},
		{"root is read-only", "for d in / /etc /bin /.mcp-sandbox /usr /dev; do touch $d/x 2>/dev/null && echo $d; done; true", ""},
		{"guest cannot be replaced", "echo x > /.mcp-sandbox/guest || echo no", "no\n"},
		{"workspace and tmp are writable", "touch /workspace/a /tmp/a && echo yes", "yes\n"},
		{"tmp runs programs", "cp /bin/echo /tmp/echo && /tmp/echo yes", "yes\n"},
		{"mount options of tmp", "grep ' /tmp ' /proc/mounts | grep -o 'nosuid,nodev'", "nosuid,nodev\n"},
		{"only own mounts", "grep -cE ' /(workspace|tmp) ' /proc/mounts", "2\n"},
		{"no core files", "ulimit -c", "0\n"},
		{"no environment of the guest's", "tr '\\0' '\\n' < /proc/1/environ 2>/dev/null || echo closed", "closed\n"},
		{"mount", "mount -t tmpfs x /tmp 2>/dev/null || echo no", "no\n"},
		{"devices", "mknod /tmp/b b 8 0 2>/dev/null || echo no", "no\n"},
		{"user namespaces", "unshare -U true 2>/dev/null || echo no", "no\n"},
		{"control groups", "for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/x 2>/dev/null && echo $d; done; true", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := box.sh("{ " + c.command + "; } 2>/dev/null"); got != c.want {
				t.Errorf("%q says %q, want %q", c.command, got, c.want)
			}
		})
	}
	if out, exit := box.run("/bin/dd", "if=/dev/zero", "of=/tmp/big", "bs=1M", "count=20"); exit.Code == 0 {
		t.Errorf("more than 16 MB fit into /tmp: %s", out)
	}
}

func checkInspect(t *testing.T, c container.InspectResponse) {
	h, swappiness := c.HostConfig, int64(-1)
	if h.MemorySwappiness != nil {
		swappiness = *h.MemorySwappiness
	}
	for what, ok := range map[string]bool{
		"user":            c.Config.User == "1000:1000",
		"command":         len(c.Args) == 1 && c.Path == guestProgram,
		"environment":     !strings.Contains(strings.Join(c.Config.Env, " "), "="),
		"stdin stays":     c.Config.OpenStdin && !c.Config.StdinOnce && !c.Config.Tty,
		"no health check": c.Config.Healthcheck != nil && c.Config.Healthcheck.Test[0] == "NONE",
		"labels":          c.Config.Labels[labelManaged] == "true" && strings.HasPrefix(c.Config.Labels[labelInstance], "test-"),
		"capabilities":    len(h.CapDrop) == 1 && h.CapDrop[0] == "ALL" && len(h.CapAdd) == 0 && !h.Privileged,
		"security":        len(h.SecurityOpt) == 1 && h.SecurityOpt[0] == "no-new-privileges:true",
		"root filesystem": h.ReadonlyRootfs,
		"network":         h.NetworkMode == "none" && len(h.PortBindings) == 0,
		"namespaces":      h.IpcMode == "private" && h.PidMode == "" && h.UTSMode == "" && h.UsernsMode == "" && h.CgroupnsMode == "private",
		"memory":          h.Memory == 64<<20 && h.MemorySwap == h.Memory && swappiness <= 0,
		"cpus":            h.NanoCPUs == 1e9,
		"processes":       h.PidsLimit != nil && *h.PidsLimit == 32+guestThreads,
		"shm":             h.ShmSize == 64<<20/8, // a share of the memory limit
		"logs":            h.LogConfig.Type == "none" && c.LogPath == "",
		"restart":         h.RestartPolicy.Name == "no" && !h.AutoRemove,
		"devices":         len(h.Devices) == 0 && len(h.DeviceRequests) == 0 && len(h.DeviceCgroupRules) == 0,
		"host paths":      len(h.Binds) == 0 && len(h.VolumesFrom) == 0,
		"masked paths":    len(h.MaskedPaths) > 5 && len(h.ReadonlyPaths) > 3,
		"mounts":          len(c.Mounts) == 1 && c.Mounts[0].Type == "volume" && c.Mounts[0].Destination == "/workspace",
	} {
		if !ok {
			t.Errorf("%s: not as it should be", what)
		}
	}
}

// L8: a full /tmp and /dev/shm, which are memory, leave room for the commands
// that empty them, however small the sandbox is.
func TestL8FullTmpLeavesRoom(t *testing.T) {
	r := newRig(t, func(c *Config) { c.TmpSizeMB = 256 })
	for _, memory := range []int64{32, 64, 256} {
		s := spec(busybox)
		s.MemoryMB = memory
		box := r.create(s)
		for _, file := range []string{"/dev/shm/x", "/tmp/x"} {
			if _, exit := box.run("/bin/dd", "if=/dev/zero", "of="+file, "bs=64k"); exit.Code == 0 || exit.OOMKilled {
				t.Errorf("%d MiB: filling %s ended with %+v", memory, file, exit)
			}
		}
		if out := box.sh("ls / >/dev/null && rm /tmp/x /dev/shm/x && echo ok"); out != "ok\n" {
			t.Errorf("%d MiB: afterwards a command printed %q", memory, out)
		}
	}
}
