package dockerbackend

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// This file is all that decides what a sandbox's container may do. It is pure:
// testdata holds what it makes of typical specs.

const (
	guestDir     = "/.mcp-sandbox"
	guestProgram = guestDir + "/guest"

	// guestThreads is the guest's own share of the process limit, which counts
	// threads: a spec's limit is what the sandbox's user may use. The guest
	// makes about 16 when it starts and no more later; the rest is margin.
	guestThreads = 20

	// gvisorThreads is how many threads of the host one of a sandbox may take
	// under gVisor.
	gvisorThreads = 16

	shmSize   = 16 << 20
	openFiles = 16384
)

// site is what all containers of one server share.
type site struct {
	instance string
	user     owner
	runtime  string
	network  string
	tmpMB    int64
	cpus     int // of the host; 0: unknown
}

// containerConfig is the part of a container that Docker calls portable.
func containerConfig(s site, spec manager.Spec, image manager.Image, creation string) *container.Config {
	stop := 1
	return &container.Config{
		Image:    image.ID,
		Labels:   labels(s.instance, map[string]string{labelCreation: creation}),
		Hostname: "sandbox",
		User:     s.user.String(),

		// "guest" picks the role when the program is the server's own binary. A
		// non-empty entrypoint also keeps the image's command away.
		Entrypoint: []string{guestProgram, "guest"},
		Cmd:        []string{},
		WorkingDir: "/",
		Env:        emptyEnv(image.Env),

		// The channel: it stays open when the server goes, and no terminal
		// changes its bytes.
		OpenStdin: true, StdinOnce: false, Tty: false,
		AttachStdin: true, AttachStdout: true, AttachStderr: true,

		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		StopSignal:  "SIGKILL", // the guest heeds no other
		StopTimeout: &stop,
	}
}

// emptyEnv makes Docker start the process with no environment: a name without
// "=" removes the variable, Docker's own and the image's alike.
func emptyEnv(image []string) []string {
	names := []string{"HOME", "HOSTNAME", "PATH", "TERM"}
	for _, entry := range image {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hostConfig is what the container gets of the host, and what it is kept from.
// Seccomp, AppArmor, and masked and read-only paths are Docker's defaults: they
// are in force because nothing here names them. fresh fills the volume from the
// image; an existing one is taken as it is, emptied or not.
func hostConfig(s site, ref manager.Ref, spec manager.Spec, image manager.Image, fresh bool) *container.HostConfig {
	no := false
	return &container.HostConfig{
		Runtime:        s.runtime,
		Privileged:     false,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges:true"},
		ReadonlyRootfs: spec.ReadOnlyRootfs,
		Init:           &no, // the guest is PID 1, also where the daemon's default says otherwise

		IpcMode:      container.IPCModePrivate,
		CgroupnsMode: container.CgroupnsModePrivate,
		NetworkMode:  networkMode(s, spec),

		Mounts:  []mount.Mount{workspaceMount(s, ref, fresh)},
		Tmpfs:   tmpfs(s, spec, image.Volumes),
		ShmSize: shmOf(spec),

		LogConfig:     container.LogConfig{Type: "none"},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		OomScoreAdj:   100, // before anything else on the host

		Resources: resources(s, spec),
	}
}

// shmOf is the size of /dev/shm; see tmpfs.
func shmOf(spec manager.Spec) int64 { return min(shmSize, spec.MemoryMB<<20/8) }

func resources(s site, spec manager.Spec) container.Resources {
	memory, pids, swappiness := spec.MemoryMB<<20, pidsLimit(s, spec), int64(0)
	return container.Resources{
		NanoCPUs: nanoCPUs(spec.CPUs, s.cpus),
		Memory:   memory,
		// Memory plus swap: equal means no swap. Where the kernel cannot account
		// for swap Docker drops this, and swappiness does what can be done.
		MemorySwap:       memory,
		MemorySwappiness: &swappiness,
		PidsLimit:        &pids,
		Ulimits: []*container.Ulimit{
			{Name: "core", Soft: 0, Hard: 0},
			{Name: "nofile", Soft: openFiles, Hard: openFiles},
		},
	}
}

// pidsLimit is what the host counts. Of gVisor it counts the threads of a kernel
// that is itself a program, and when those run out that kernel ends and the
// sandbox with it: there it can only be a bound for the host's sake.
func pidsLimit(s site, spec manager.Spec) int64 {
	limit := spec.PidsLimit + guestThreads
	if isGVisor(s.runtime) {
		limit *= gvisorThreads
	}
	return limit
}

// isGVisor goes by what people call it when they register it with Docker: runsc,
// runsc-kvm, io.containerd.runsc.v1, gvisor.
func isGVisor(runtime string) bool {
	return strings.Contains(runtime, "runsc") || strings.Contains(runtime, "gvisor")
}

// nanoCPUs caps the limit at what the host has: Docker refuses more.
func nanoCPUs(cpus float64, host int) int64 {
	if host > 0 {
		cpus = min(cpus, float64(host))
	}
	return int64(math.Round(cpus * 1e9))
}

func networkMode(s site, spec manager.Spec) container.NetworkMode {
	if spec.Network {
		return container.NetworkMode(s.network)
	}
	return "none"
}

func workspaceMount(s site, ref manager.Ref, fresh bool) mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: ref.Volume, Target: protocol.Workspace,
		// Labels matter only if the volume vanished just now and Docker makes
		// another: that one must not be nobody's.
		VolumeOptions: &mount.VolumeOptions{NoCopy: !fresh, Labels: labels(s.instance, nil)},
	}
}

// tmpfs are the mounts in memory: /tmp, and an empty, read-only one over each
// path that the image declares as VOLUME, where Docker would otherwise make an
// anonymous, writable volume. "exec" is said because noexec is the default.
//
// What lies in /tmp counts as the sandbox's memory, and the OOM killer cannot
// free it. So it gets at most half of that: a full /tmp must leave room for the
// command that empties it.
func tmpfs(s site, spec manager.Spec, volumes []string) map[string]string {
	mounts := map[string]string{}
	for _, v := range volumes {
		if v = volumePath(v); v != protocol.Workspace {
			mounts[v] = "ro,noexec,nosuid,nodev,size=4k,mode=0555"
		}
	}
	mounts["/tmp"] = fmt.Sprintf("rw,exec,nosuid,nodev,size=%dm,mode=1777", min(s.tmpMB, spec.MemoryMB/2))
	return mounts
}

// volumePath is where a VOLUME is mounted; images may write it oddly.
func volumePath(v string) string { return path.Clean("/" + v) }

// volumeOptions makes the workspace.
func volumeOptions(s site, name, creation string) volume.CreateOptions {
	return volume.CreateOptions{Name: name, Labels: labels(s.instance, map[string]string{labelCreation: creation})}
}
