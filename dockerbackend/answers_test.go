package dockerbackend

import (
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/faultproxy"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// behind makes a Backend that reaches Docker through a proxy.
func (r *rig) behind(p *faultproxy.Proxy) *Backend {
	r.Helper()
	api, err := client.NewClientWithOpts(client.WithHost(p.Host()))
	if err != nil {
		r.Fatal(err)
	}
	b := newBackend(r.b.cfg, r.b.user, api)
	r.Cleanup(func() { b.Close() })
	return b
}

// TestAnswersThatSayNothing: nothing is concluded from what an answer lacks, least
// of all that a workspace is gone.
func TestAnswersThatSayNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := faultproxy.Start(t, r.docker.DaemonHost())
	b := r.behind(p)
	box := r.create(spec(busybox))
	box.sh("echo kept > f")
	for _, call := range []faultproxy.Call{"GET /containers/{}/json", "GET /volumes/{}", "GET /images/{}/json"} {
		for _, fault := range []faultproxy.Fault{faultproxy.Empty, faultproxy.NotJSON, faultproxy.NotHTTP, faultproxy.Status502, faultproxy.Cut} {
			if err := r.docker.ContainerKill(r.ctx, box.ref.Container, "KILL"); err != nil && !strings.Contains(err.Error(), "not running") {
				t.Fatal(err)
			}
			p.Inject(faultproxy.Rule{Call: call, Fault: fault})
			if _, err := b.Open(r.ctx, box.ref, box.spec, box.image); call != "GET /images/{}/json" {
				r.wantKind("open: "+string(call+" "+faultproxy.Call(fault)), err, manager.KindUnavailable)
			}
			if call == "GET /containers/{}/json" {
				r.wantKind("remove", b.Remove(r.ctx, box.ref), manager.KindUnavailable)
			}
			_, err := b.PrepareImage(r.ctx, busybox)
			if call == "GET /images/{}/json" {
				r.wantKind("prepare image", err, manager.KindUnavailable)
			}
			p.Lift()
		}
	}
	r.b = b
	box.open()
	if got := box.sh("cat f"); got != "kept\n" {
		t.Errorf("got %q", got)
	}
}

// TestPingThatNamesNoVersion: Docker's client would take that for the oldest
// engine there is, and speak to it so for ever.
func TestPingThatNamesNoVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := faultproxy.Start(t, r.docker.DaemonHost())
	b := r.behind(p)
	p.Inject(faultproxy.Rule{Call: "HEAD /_ping", Fault: faultproxy.NotJSON})
	_, err := b.List(r.ctx)
	r.wantKind("list", err, manager.KindUnavailable)
	p.Lift()
	if _, err := b.List(r.ctx); err != nil || b.docker.api.ClientVersion() == "1.24" {
		t.Errorf("list, in version %s: %v", b.docker.api.ClientVersion(), err)
	}
}

// TestDockerRefusesToAttach: that is no fault of the guest, whose container must
// not be restarted for it, with all that runs inside.
func TestDockerRefusesToAttach(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := faultproxy.Start(t, r.docker.DaemonHost())
	b := r.behind(p)
	box := r.create(spec(busybox))
	before := r.inspect(box.ref.Container).State.StartedAt
	for _, fault := range []faultproxy.Fault{faultproxy.Status500, faultproxy.Drop, faultproxy.Empty} {
		p.Inject(faultproxy.Rule{Call: "POST /containers/{}/attach", Fault: fault})
		if _, err := b.Open(r.ctx, box.ref, box.spec, box.image); err == nil {
			t.Errorf("%s: open succeeds", fault)
		}
		p.Lift()
	}
	if after := r.inspect(box.ref.Container).State.StartedAt; after != before {
		t.Error("the container was restarted")
	}
	r.b = b
	box.open()
	box.sh("true")
}

// TestHostThatCannotBeAsked: what was guessed while Docker was in trouble is asked
// again.
func TestHostThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := faultproxy.Start(t, r.docker.DaemonHost())
	b := r.behind(p)
	p.Inject(faultproxy.Rule{Call: "GET /info", Fault: faultproxy.Status500})
	if facts, err := b.hostFacts(r.ctx); err != nil || facts.cpus != 0 {
		t.Errorf("facts: %+v, %v", facts, err)
	}
	p.Lift()
	if facts, err := b.hostFacts(r.ctx); err != nil || facts.cpus == 0 {
		t.Errorf("facts: %+v, %v", facts, err)
	}
}

// TestRemovalThatIsALie: a name is forgotten only when what had it is gone.
func TestRemovalThatIsALie(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := faultproxy.Start(t, r.docker.DaemonHost())
	b := r.behind(p)
	b.docker.patience.Store(&impatient)
	box := r.create(spec(busybox))
	for _, call := range []faultproxy.Call{"DELETE /containers/{}", "DELETE /volumes/{}"} {
		p.Inject(faultproxy.Rule{Call: call, Fault: faultproxy.Empty})
		r.wantKind("remove", b.Remove(r.ctx, box.ref), manager.KindBackend)
		p.Lift()
	}
	if err := b.Remove(r.ctx, box.ref); err != nil {
		t.Error(err)
	}
}
