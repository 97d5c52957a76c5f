package dockerbackend

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// What others do to our containers, and what we must not do to theirs. What
// every backend promises about containers that were stopped or removed is in the
// conformance suite.

func TestPausedFromOutside(t *testing.T) {
	r := newRig(t)
	box := r.create(spec(busybox))
	if err := r.docker.ContainerPause(r.ctx, box.ref.Container); err != nil {
		t.Fatalf("pause: %v", err)
	}
	within(t, 5*time.Second, "exec", func() {
		_, _, err := box.try(r.ctx, "/bin/true")
		wantPaused(r, "exec", err)
	})
	within(t, 5*time.Second, "open", func() {
		_, err := r.b.Open(r.ctx, box.ref, box.spec, box.image)
		wantPaused(r, "open", err)
	})
	if s, err := r.b.Inspect(r.ctx, box.ref); err != nil || s.Container != manager.ContainerPaused || !s.Volume {
		t.Errorf("inspect: %+v, %v", s, err)
	}
	if err := r.docker.ContainerUnpause(r.ctx, box.ref.Container); err != nil {
		t.Fatal(err)
	}
	box.sh("true")
	if err := r.docker.ContainerPause(r.ctx, box.ref.Container); err != nil {
		t.Fatal(err)
	}
	within(t, 5*time.Second, "remove", func() {
		if err := r.b.Remove(r.ctx, box.ref); err != nil {
			t.Errorf("remove: %v", err)
		}
	})
	if left := r.volumes(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func wantPaused(r *rig, what string, err error) {
	r.Helper()
	var typed *manager.Error
	if !errors.As(err, &typed) || typed.Kind != manager.KindConflict || !typed.Retryable || !strings.Contains(typed.Message, "paused") {
		r.Errorf("%s: got %v", what, err)
	}
}

func within(t testing.TB, limit time.Duration, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > limit {
		t.Errorf("%s took %v, limit %v", what, took, limit)
	}
}

// TestEmptiedWorkspaceStaysEmpty: Docker fills an empty volume from the image
// whenever a container is made; files that were deleted must not come back.
func TestEmptiedWorkspaceStaysEmpty(t *testing.T) {
	r := newRig(t)
	box := r.create(spec(withWorkspace))
	box.sh("rm -rf /workspace/*; ls")
	if err := r.docker.ContainerRemove(r.ctx, box.ref.Container, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	box.open()
	if got := box.sh("ls; touch x; ls"); got != "x\n" {
		t.Errorf("got %q", got)
	}
}

// TestGuestThatHangs is restarted, with the workspace kept.
func TestGuestThatHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	box := r.create(spec(busybox))
	box.sh("echo kept > f")
	other := box.ref
	other.Key = randomHex(32) // a guest that hears nothing it knows stays silent, as one that hangs
	g, err := r.b.Open(r.ctx, other, box.spec, box.image)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	box.Guest = g
	if got := box.sh("cat f"); got != "kept\n" {
		t.Errorf("got %q", got)
	}
}

func TestNamesTakenByOthers(t *testing.T) {
	r := newRig(t)
	image := r.image(busybox)
	theirs := map[string]string{"owner": "somebody", labelInstance: r.instance} // the label is for the sweep
	ref := r.ref()
	if _, err := r.docker.VolumeCreate(r.ctx, volume.CreateOptions{Name: ref.Volume, Labels: theirs}); err != nil {
		t.Fatal(err)
	}
	_, err := r.b.Create(r.ctx, ref, spec(busybox), image)
	r.wantKind("volume taken", err, manager.KindConflict)
	r.wantUntouched(ref, "volume")

	ref = r.ref()
	if _, err := r.docker.ContainerCreate(r.ctx, &container.Config{Image: busybox, Cmd: []string{"sh"}, Labels: theirs}, nil, nil, nil, ref.Container); err != nil {
		t.Fatal(err)
	}
	_, err = r.b.Create(r.ctx, ref, spec(busybox), image)
	r.wantKind("container taken", err, manager.KindConflict)
	if s, err := r.b.Inspect(r.ctx, ref); err != nil || s.Container != manager.ContainerGone || s.Volume {
		t.Errorf("inspect: %+v, %v", s, err)
	}
	_, err = r.b.Open(r.ctx, ref, spec(busybox), image)
	r.wantKind("open", err, manager.KindConflict)
	r.wantUntouched(ref, "container")
}

// TestVolumeWithoutLabels: Docker makes a volume first and notes its labels after,
// and may end in between.
func TestVolumeWithoutLabels(t *testing.T) {
	r := newRig(t)
	ref := r.ref()
	if _, err := r.docker.VolumeCreate(r.ctx, volume.CreateOptions{Name: ref.Volume}); err != nil {
		t.Fatal(err)
	}
	defer r.docker.VolumeRemove(r.ctx, ref.Volume, true)
	if err := r.b.RemoveFound(r.ctx, manager.Found{Kind: manager.FoundVolume, Name: ref.Volume}); err != nil {
		t.Errorf("remove found: %v", err)
	}
	if _, err := r.docker.VolumeInspect(r.ctx, ref.Volume); err != nil {
		t.Errorf("what no record names, and has no label: %v", err)
	}
	r.mustRemove(ref)
	if _, err := r.docker.VolumeInspect(r.ctx, ref.Volume); err == nil {
		t.Error("what a record names stays")
	}
}

// wantUntouched: neither Remove nor RemoveFound takes what is not ours.
func (r *rig) wantUntouched(ref manager.Ref, what string) {
	r.Helper()
	if err := r.b.Remove(r.ctx, ref); err != nil {
		r.Errorf("remove: %v", err)
	}
	for _, kind := range []manager.FoundKind{manager.FoundContainer, manager.FoundVolume} {
		if err := r.b.RemoveFound(r.ctx, manager.Found{Kind: kind, Name: ref.Container}); err != nil {
			r.Errorf("remove found: %v", err)
		}
	}
	var err error
	if what == "volume" {
		_, err = r.docker.VolumeInspect(r.ctx, ref.Volume)
	} else {
		_, err = r.docker.ContainerInspect(r.ctx, ref.Container)
	}
	if err != nil {
		r.Errorf("somebody's %s: %v", what, err)
	}
}

// TestListGoesByLabels: managed things of this instance, and no others.
func TestListGoesByLabels(t *testing.T) {
	r := newRig(t)
	prefix := "sb-" + r.instance + "-"
	made := map[string]map[string]string{
		"ours":       {labelManaged: "true", labelInstance: r.instance},
		"unlabelled": {labelInstance: r.instance},
		"false":      {labelManaged: "false", labelInstance: r.instance},
		"lookalike":  {"io.agent-sandbox.managed.not": "true", labelInstance: r.instance},
		"theirs":     {labelManaged: "true", labelInstance: r.instance + "x"},
	}
	for name, labels := range made {
		if _, err := r.docker.VolumeCreate(r.ctx, volume.CreateOptions{Name: prefix + name, Labels: labels}); err != nil {
			t.Fatal(err)
		}
		defer r.docker.VolumeRemove(r.ctx, prefix+name, true)
		if _, err := r.docker.ContainerCreate(r.ctx, &container.Config{Image: busybox, Cmd: []string{"sh"}, Labels: labels}, nil, nil, nil, prefix+name); err != nil {
			t.Fatal(err)
		}
		defer r.docker.ContainerRemove(r.ctx, prefix+name, container.RemoveOptions{Force: true})
	}
	found, err := r.b.List(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range found {
		if name, ours := strings.CutPrefix(f.Name, prefix); ours {
			got[name]++
			for range 2 {
				if err := r.b.RemoveFound(r.ctx, f); err != nil {
					t.Errorf("remove %+v: %v", f, err)
				}
			}
		}
	}
	if len(got) != 1 || got["ours"] != 2 {
		t.Errorf("listed: %v", got)
	}
	for name := range made {
		_, err := r.docker.ContainerInspect(r.ctx, prefix+name)
		if there, want := err == nil, got[name] == 0; there != want {
			t.Errorf("%s is there: %t, want %t", name, there, want)
		}
	}
}

// TestClaims: what names no server may be another program's, just being made. (On a
// real Docker each server that starts takes such things, so no test has them there.)
func TestClaims(t *testing.T) {
	b := newBackend(Config{Instance: "ours"}, owner{}, nil)
	now := b.started.Add(time.Second)
	for _, c := range []struct {
		what    string
		labels  map[string]string
		created time.Time
		want    bool
	}{
		{"ours", map[string]string{labelManaged: "true", labelInstance: "ours"}, now, true},
		{"theirs", map[string]string{labelManaged: "true", labelInstance: "theirs"}, time.Time{}, false},
		{"not managed", map[string]string{labelManaged: "false", labelInstance: "ours"}, time.Time{}, false},
		{"nobody's, new", map[string]string{labelManaged: "true"}, now, false},
		{"nobody's, from before", map[string]string{labelManaged: "true"}, b.started.Add(-time.Second), true},
		{"nobody's, of unknown age", map[string]string{labelManaged: "true"}, time.Time{}, true},
	} {
		if got := b.claims(c.labels, c.created); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
	b.started = now.Add(-time.Hour)
	if !b.claims(map[string]string{labelManaged: "true"}, now.Add(-30*time.Minute)) {
		t.Error("nobody's, old")
	}
}

// TestContainersRunByHand: what somebody runs from a prepared image has the labels
// of that image, and is theirs. What an image was to be made from is not.
func TestContainersRunByHand(t *testing.T) {
	r := newRig(t)
	box := r.create(spec(r.freshBase()))
	make := func(name string) string {
		if _, err := r.docker.ContainerCreate(r.ctx, &container.Config{Image: box.image.ID}, nil, nil, nil, name); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.docker.ContainerRemove(context.Background(), name, container.RemoveOptions{Force: true}) })
		if got := r.inspect(name).Config.Labels[labelInstance]; got != r.b.cfg.Instance {
			t.Fatalf("%s inherits no server, but %q", name, got)
		}
		return name
	}
	byHand := []string{make("by-hand-" + randomHex(8))}
	helpers := []string{make(helperPrefix + randomHex(8))}
	found, err := r.b.List(r.ctx)
	for _, name := range append(helpers, box.ref.Container) {
		if !slices.Contains(found, manager.Found{Kind: manager.FoundContainer, Name: name}) || err != nil {
			t.Errorf("%s is not listed: %v, %v", name, found, err)
		}
	}
	others, err := r.server(func(c *Config) { c.Instance = "another" }).Others(r.ctx)
	i := slices.IndexFunc(others, func(o Other) bool { return o.Instance == r.b.cfg.Instance })
	if err != nil || i < 0 || others[i].Containers != 2 {
		t.Errorf("another server sees %+v, %v", others, err)
	}
	for _, f := range found {
		if err := r.b.RemoveFound(r.ctx, f); err != nil {
			t.Errorf("remove %v: %v", f, err)
		}
	}
	for _, name := range byHand {
		r.inspect(name)
	}
	if left := r.containers(); len(left) != len(byHand) {
		t.Errorf("left: %v", left)
	}
	if i >= 0 {
		// What doctor says removes the rest of a server's, and spares these.
		other := r.create(spec(busybox))
		if out, err := exec.Command("sh", "-c", others[i].Remove()).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", others[i].Remove(), err, out)
		}
		if left := r.containers(); len(left) != len(byHand) || slices.Contains(left, other.ref.Container) {
			t.Errorf("left after that: %v", left)
		}
	}
}
