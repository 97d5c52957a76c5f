package e2e

// property is one promise about a sandbox: what "docker inspect" shows of it, and
// what a program inside finds or is let do (see e2e/probe).
type property struct {
	name    string // with the field cases that it answers
	promise string
	inspect []fact // a field, as inspectedField has it
	probe   []fact // a finding of the probe's
}

// fact is what a thing must be. In angle brackets is what the sandbox was made
// with: see filled.
type fact struct{ what, want string }

// refusals are facts of the same kind: tried, and refused.
func refusals(tries ...string) (all []fact) {
	for _, try := range tries {
		all = append(all, fact{try, "refused"})
	}
	return all
}

func refusedAtOnce(tries ...string) (all []fact) {
	for _, try := range tries {
		all = append(all, fact{try, "refused at once"})
	}
	return all
}

func both(a, b []fact) []fact { return append(a, b...) }

// properties are what holds for every sandbox without network, whatever its image
// and however it came to be. docs/security.md shows this table.
var properties = []property{
	{
		"M4 user", "the sandbox user, and no way to be another",
		[]fact{{"Config.User", "1000:1000"}, {"HostConfig.Privileged", "false"}, {"HostConfig.GroupAdd", "none"}, {"HostConfig.UsernsMode", "none"}},
		both([]fact{{"user", "1000:1000 [1000]"}, {"HOME", "/workspace"}}, refusals("become root", "join the group of root", "a user name space", "give a file to root")),
	},
	{
		"M4 capabilities", "none, and none to be had by a program",
		[]fact{{"HostConfig.CapDrop", `["ALL"]`}, {"HostConfig.CapAdd", "none"}, {"HostConfig.SecurityOpt", `["no-new-privileges:true"]`}},
		both([]fact{{"capabilities", "none"}, {"no new privileges", "1"}}, refusals("chroot", "make a block device", "make a character device", "mount", "mount the root for writing", "unmount")),
	},
	{
		"M4 system calls", "Docker's default seccomp profile, and the guest's own filter on top",
		[]fact{{"HostConfig.SecurityOpt", `["no-new-privileges:true"]`}},
		both([]fact{{"seccomp", "filter"}}, refusals("leave its name spaces", "set the host's name", "set the clock", "reboot", "swap", "load a module", "load a program (bpf)",
			"use the kernel's keys", "count events of the CPU", "queue calls (io_uring)", "read the kernel's log")),
	},
	{
		"M4 root filesystem", "read-only; so are the image's own volumes",
		[]fact{{"HostConfig.ReadonlyRootfs", "true"}, {"HostConfig.Tmpfs of the image's volumes", "read-only"}},
		both([]fact{{"directories that take a file", "/dev/shm /tmp /workspace"}}, refusals("overwrite the guest", "remove the guest")),
	},
	{
		"F9 F10 workspace", "the one volume; all in it is the sandbox user's",
		[]fact{{"Mounts", "volume /workspace rw"}},
		[]fact{{"workspace", "own directory, commands start in /workspace, 0 files of others"}},
	},
	{
		"M1 mounts", "nothing of the host",
		[]fact{{"HostConfig.Binds", "none"}, {"HostConfig.VolumesFrom", "none"}, {"Mounts", "volume /workspace rw"}, {"HostConfig.Devices", "none"}, {"HostConfig.DeviceRequests", "none"}},
		both([]fact{{"mounts of a disk", "/etc/hostname /etc/hosts /etc/resolv.conf /workspace"}, {"Docker's socket", "absent"}}, refusals("open a device of the host")),
	},
	{
		"L8 /tmp", "in memory, of limited size",
		[]fact{{"HostConfig.Tmpfs./tmp", "rw,exec,nosuid,nodev,size=<tmp MiB>m,mode=1777"}},
		[]fact{{"/tmp", "tmpfs nosuid,nodev <tmp> bytes"}, {"fill /tmp", "no space"}},
	},
	{
		"L8 /dev/shm", "in memory, small",
		[]fact{{"HostConfig.ShmSize", "<shm>"}},
		[]fact{{"/dev/shm", "tmpfs nosuid,nodev,noexec <shm> bytes"}, {"fill /dev/shm", "no space"}},
	},
	{
		"K1 network", "no interface but loopback; every try fails at once",
		[]fact{{"HostConfig.NetworkMode", "none"}, {"HostConfig.PortBindings", "none"}, {"HostConfig.PublishAllPorts", "false"}},
		both([]fact{{"interfaces", "lo"}, {"a raw socket", "refused"}, {"a socket for frames", "refused"}, {"a socket to the hypervisor", "refused"}},
			refusedAtOnce("reach an address", "reach an IPv6 address", "reach the Docker host", "reach the metadata", "reach the hypervisor", "send a datagram", "send an echo request")),
	},
	{
		"K1 names", "none can be resolved",
		[]fact{{"HostConfig.Dns", "none"}, {"HostConfig.ExtraHosts", "none"}},
		refusedAtOnce("resolve a name"),
	},
	{
		"L2 memory", "a hard limit, no swap",
		[]fact{{"HostConfig.Memory", "<memory>"}, {"HostConfig.MemorySwap", "<memory>"}, {"HostConfig.OomKillDisable", "false"}},
		[]fact{{"memory limit", "<memory> bytes"}, {"more memory than there is", "killed"}},
	},
	{
		"M4 CPU", "a hard limit",
		[]fact{{"HostConfig.NanoCpus", "<nano CPUs>"}},
		[]fact{{"seconds of CPU in a second", "at most 0.7"}},
	},
	{
		"L4 processes", "a hard limit",
		[]fact{{"HostConfig.PidsLimit", "<processes and the guest's threads>"}},
		[]fact{{"one process more", "refused"}},
	},
	{
		"L8 files", "few open ones, and no core files",
		[]fact{{"HostConfig.Ulimits", `[{"Hard":0,"Name":"core","Soft":0},{"Hard":16384,"Name":"nofile","Soft":16384}]`}},
		[]fact{{"open files", "16384"}, {"core files", "0 bytes"}},
	},
	{
		"M4 name spaces", "all of its own; a fixed host name",
		[]fact{{"HostConfig.IpcMode", "private"}, {"HostConfig.PidMode", "none"}, {"HostConfig.UTSMode", "none"}, {"HostConfig.CgroupnsMode", "private"}, {"Config.Hostname", "sandbox"}},
		[]fact{{"hostname", "sandbox"}, {"processes of others", "none"}, {"memory shared with others", "none"}},
	},
	{
		"M4 kernel's settings", "masked, or not to be written",
		[]fact{{"HostConfig.MaskedPaths", "with /proc/kcore, /proc/keys and /sys/firmware"}, {"HostConfig.ReadonlyPaths", "with /proc/sys"}},
		refusals("write settings in /proc", "read masked files", "write to /sys", "make a control group"),
	},
	{
		"L5 first process", "the guest, which reaps, and is out of reach",
		[]fact{{"Path", "/.mcp-sandbox/guest"}, {"Args", `["guest"]`}, {"HostConfig.Init", "false"}},
		both([]fact{{"the first process", "guest"}, {"64 signals to it", "without effect"}, {"orphans", "reaped"}},
			refusals("read it", "open its memory", "trace it", "seize it", "read across", "limit it", "slow it down", "have it killed first")),
	},
	{
		"M2 secrets", "nothing of the server's is inside",
		[]fact{{"Config.Env, values", "none"}},
		[]fact{{"secrets of the server's to be read", "none"}},
	},
	{
		"M4 image's settings", "an entry point, command, user, health check or environment of the image's has no say",
		[]fact{{"Config.Entrypoint", `["/.mcp-sandbox/guest","guest"]`}, {"Config.Cmd", "none"}, {"Config.Healthcheck.Test", `["NONE"]`}, {"State.Health", "none"}, {"Config.StopSignal", "SIGKILL"}},
		[]fact{{"the first process", "guest"}, {"user", "1000:1000 [1000]"}},
	},
	{
		"M5 traces on the host", "no log is kept, nothing is started again",
		[]fact{{"HostConfig.LogConfig.Type", "none"}, {"LogPath", "none"}, {"HostConfig.RestartPolicy.Name", "no"}, {"HostConfig.AutoRemove", "false"}},
		nil,
	},
}
