package dockerbackend

import (
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/faultproxy"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// adopt gives a sandbox another name and other limits.
func (r *rig) adopt(s *sandbox, want manager.Spec) {
	r.Helper()
	to := s.ref
	to.Container = r.ref().Container
	if !r.b.Fits(s.spec, want) {
		r.Fatalf("%+v does not fit %+v", want, s.spec)
	}
	if err := r.b.Adopt(r.ctx, s.Guest, s.ref, to, s.spec, want); err != nil {
		r.Fatalf("adopt: %v", err)
	}
	s.ref, s.spec = to, want
}

// The limits of what was adopted are those that it would have been made with,
// for Docker and for the kernel, up and down.
func TestAdoptChangesLimits(t *testing.T) {
	r := newRig(t)
	made := spec(busybox)
	made.MemoryMB = 256
	for _, memory := range []int64{200, 1024} {
		box, want := r.create(made), made
		want.CPUs, want.MemoryMB, want.PidsLimit = 0.25, memory, 99
		r.adopt(box, want)
		adopted, fresh := r.inspect(box.ref.Container).HostConfig, r.inspect(r.create(want).ref.Container).HostConfig
		if adopted.Memory != fresh.Memory || adopted.MemorySwap != fresh.MemorySwap || adopted.NanoCPUs != fresh.NanoCPUs ||
			*adopted.PidsLimit != *fresh.PidsLimit || adopted.ShmSize != fresh.ShmSize || adopted.Tmpfs["/tmp"] != fresh.Tmpfs["/tmp"] {
			t.Errorf("adopted: %+v %v; made: %+v %v", adopted.Resources, adopted.Tmpfs, fresh.Resources, fresh.Tmpfs)
		}
		look := "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max 2>/dev/null; true"
		got := strings.Fields(box.sh(look))
		if len(got) != 2 || got[0] != "1073741824" && got[0] != "209715200" || got[1] != "119" {
			t.Errorf("the kernel's limits are %q for %d MiB", got, memory)
		}
	}
}

func TestFitsBySizesInMemory(t *testing.T) {
	b := &Backend{cfg: Config{TmpSizeMB: 256}}
	made := manager.Spec{MemoryMB: 512}
	for memory, fits := range map[int64]bool{16: false, 128: false, 511: false, 512: true, 513: true, 4096: true} {
		if got := b.Fits(made, manager.Spec{MemoryMB: memory}); got != fits {
			t.Errorf("%d MiB: fits is %t", memory, got)
		}
	}
}

// What says yes and does nothing, as something between the server and Docker
// may, must not make a sandbox of a spare that has the wrong name or limits.
func TestAdoptIsNotBelievedUnseen(t *testing.T) {
	r := newRig(t)
	p := faultproxy.Start(t, r.docker.DaemonHost())
	b := r.behind(p)
	for call, fault := range map[faultproxy.Call]faultproxy.Fault{
		"POST /containers/{}/rename": faultproxy.NotJSON,
		"POST /containers/{}/update": faultproxy.Empty,
	} {
		box := r.create(spec(busybox))
		box.Close() // one server at a time is attached to a container
		guest, err := b.Open(r.ctx, box.ref, box.spec, box.image)
		if err != nil {
			t.Fatal(err)
		}
		box.Guest = guest
		to, want := box.ref, box.spec
		to.Container, want.PidsLimit = r.ref().Container, 99
		p.Inject(faultproxy.Rule{Call: call, Fault: fault})
		err = b.Adopt(r.ctx, guest, box.ref, to, box.spec, want)
		p.Lift()
		if err == nil {
			t.Errorf("%s did nothing, and the spare was adopted", call)
		}
	}
}
