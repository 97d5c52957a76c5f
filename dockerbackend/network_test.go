package dockerbackend

import (
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/network"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// TestNetwork: made on demand, sandboxes on it cannot reach each other, and it
// goes with the last of them.
func TestNetwork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	name := "net-" + r.instance
	if _, err := r.docker.NetworkInspect(r.ctx, name, network.InspectOptions{}); !cerrdefs.IsNotFound(err) {
		t.Fatalf("network before: %v", err)
	}
	s := spec(busybox)
	s.Network = true
	a, b := r.create(s), r.create(s)
	n, err := r.docker.NetworkInspect(r.ctx, name, network.InspectOptions{})
	if err != nil || n.Options[iccOption] != "false" || n.Labels[labelManaged] != "true" {
		t.Fatalf("network: %+v, %v", n, err)
	}
	if got := a.sh("ls /sys/class/net"); got != "eth0\nlo\n" {
		t.Errorf("interfaces: %q", got)
	}
	ip := r.inspect(b.ref.Container).NetworkSettings.Networks[name].IPAddress
	b.sh("(while :; do echo hi | nc -l -p 8000; done) >/dev/null 2>&1 &")
	eventually(t, "the listener works", func() bool {
		_, exit := b.run("/bin/nc", "-w", "2", "127.0.0.1", "8000")
		return exit.Code == 0
	})
	if out, exit := a.run("/bin/nc", "-w", "2", ip, "8000"); exit.Code == 0 {
		t.Errorf("a sandbox reached another: %s", out)
	}

	// A network that was made anew has another ID, and a stopped container
	// would not find it.
	if err := r.docker.ContainerKill(r.ctx, b.ref.Container, "KILL"); err != nil {
		t.Fatal(err)
	}
	r.mustRemove(a.ref)
	r.remakeNetwork(name)
	b.open()
	b.sh("true")
	r.mustRemove(b.ref)
	eventually(t, "network goes", func() bool {
		_, err := r.docker.NetworkInspect(r.ctx, name, network.InspectOptions{})
		return cerrdefs.IsNotFound(err)
	})
}

func (r *rig) mustRemove(ref manager.Ref) {
	r.Helper()
	if err := r.b.Remove(r.ctx, ref); err != nil {
		r.Fatalf("remove: %v", err)
	}
}

func (r *rig) remakeNetwork(name string) {
	r.Helper()
	if err := r.docker.NetworkRemove(r.ctx, name); err != nil && !cerrdefs.IsNotFound(err) {
		r.Fatalf("remove network: %v", err)
	}
	if err := r.b.makeNetwork(r.ctx); err != nil {
		r.Fatalf("make network: %v", err)
	}
}

// TestForeignNetwork: a bridge of the name that lets sandboxes talk is refused.
func TestForeignNetwork(t *testing.T) {
	r := newRig(t)
	if _, err := r.docker.NetworkCreate(r.ctx, "net-"+r.instance, network.CreateOptions{Driver: "bridge"}); err != nil {
		t.Fatal(err)
	}
	s := spec(busybox)
	s.Network = true
	ref := r.ref()
	_, err := r.b.Create(r.ctx, ref, s, r.image(busybox))
	r.wantKind("create", err, manager.KindBackend)
	if left := r.volumes(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	r.b.dropNetwork(r.ctx)
	if _, err := r.docker.NetworkInspect(r.ctx, "net-"+r.instance, network.InspectOptions{}); err != nil {
		t.Errorf("somebody's network: %v", err)
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 15 s", what)
		}
	}
}
