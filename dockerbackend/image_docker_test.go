package dockerbackend

import (
	"archive/tar"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// TestAwkwardImages: whatever an image lacks or declares, a sandbox of it works.
func TestAwkwardImages(t *testing.T) {
	r := newRig(t)
	t.Run("no shell, no tar, no users, no directories", func(t *testing.T) {
		box := r.create(spec(noShell))
		if out, exit := box.run("/bin/echo", "hello"); out != "hello\n" || exit.Code != 0 {
			t.Errorf("got %q, %+v", out, exit)
		}
		if _, err := box.Write(r.ctx, "/workspace/a/b", manager.WriteOptions{MaxBytes: 10}, strings.NewReader("x")); err != nil {
			t.Errorf("write: %v", err)
		}
	})
	t.Run("files in /workspace become the user's", func(t *testing.T) {
		box := r.create(spec(withWorkspace))
		want := "from the image\nprivate to root\nran\ndeep\n"
		if got := box.sh("cat readme.txt sub/private.txt; ./run.sh; cat link"); got != want {
			t.Errorf("got %q", got)
		}
		if got := box.sh("find /workspace ! -user 1000; touch new sub/deep/new; rm -r sub; echo done"); got != "done\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("/workspace declared a volume", func(t *testing.T) {
		box := r.create(spec(volumeWorkspace))
		if got := box.sh("cat readme.txt; touch new; find /workspace ! -user 1000"); got != "from the image\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("/workspace is a link out", func(t *testing.T) {
		box := r.create(spec(r.freshBase(&tar.Header{Typeflag: tar.TypeSymlink, Name: "workspace", Linkname: "/etc"})))
		if got := box.sh("ls; touch new; ls; test -e /etc/new || echo apart"); got != "new\napart\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("/workspace is a file", func(t *testing.T) {
		box := r.create(spec(r.freshBase(&tar.Header{Typeflag: tar.TypeReg, Name: "workspace"})))
		box.sh("touch new")
	})
	t.Run("volumes, entrypoint, user, health check", func(t *testing.T) { checkVolumeImage(t, r) })
}

func checkVolumeImage(t *testing.T, r *rig) {
	before := r.allVolumes()
	box := r.create(spec(withVolumes))
	if got := box.sh("id -u; pwd; ls /data /var/lib/x; touch /data/x /var/lib/x/x 2>/dev/null || echo read-only"); got != "1000\n/workspace\n/data:\n\n/var/lib/x:\nread-only\n" {
		t.Errorf("got %q", got)
	}
	if !slices.Contains(box.image.Env, "SPACES=a  b") || !slices.Contains(box.image.Env, "EQUALS=a=b=c") {
		t.Errorf("environment is %q", box.image.Env)
	}
	c := r.inspect(box.ref.Container)
	if c.State.Health != nil || len(c.Mounts) != 1 {
		t.Errorf("health %+v, mounts %+v", c.State.Health, c.Mounts)
	}
	if err := r.b.Remove(r.ctx, box.ref); err != nil {
		t.Errorf("remove: %v", err)
	}
	for _, name := range r.allVolumes() {
		if len(name) == 64 && !slices.Contains(before, name) { // anonymous ones are named by a digest
			if v, err := r.docker.VolumeInspect(r.ctx, name); err == nil && time.Since(mustTime(v.CreatedAt)) < time.Minute {
				t.Errorf("an anonymous volume is left: %s", name)
			}
		}
	}
}

func mustTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

func (r *rig) allVolumes() (names []string) {
	list, err := r.docker.VolumeList(r.ctx, volume.ListOptions{})
	if err != nil {
		r.Errorf("list volumes: %v", err)
	}
	for _, v := range list.Volumes {
		names = append(names, v.Name)
	}
	return names
}

// TestWrongArchitecture: said before anything is made, not by a start that fails.
func TestWrongArchitecture(t *testing.T) {
	r := newRig(t)
	name := r.foreignImage("s390x")
	if i := mustInspect(r, name); i.Architecture != "s390x" {
		t.Fatalf("the image is for %s", i.Architecture)
	}
	_, err := r.b.PrepareImage(r.ctx, name)
	r.wantKind("prepare", err, manager.KindInvalid)
	if m := manager.Public(err).Message; !strings.Contains(m, "s390x") || !strings.Contains(m, name) {
		t.Errorf("message: %q", m)
	}
}

// TestMissingImage: an unknown name costs seconds, and says what it is about.
func TestMissingImage(t *testing.T) {
	r := newRig(t)
	for _, ref := range []string{"no-such-image-anywhere:1", "registry.invalid/team/image:1", "127.0.0.1:9/image:1"} {
		began := time.Now()
		_, err := r.b.PrepareImage(r.ctx, ref)
		r.wantKind(ref, err, manager.KindInvalid)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: took %v", ref, took)
		}
		public := manager.Public(err)
		if !strings.Contains(public.Message, ref) || strings.Contains(public.Message, "lookup") || strings.Contains(public.Message, "dial") {
			t.Errorf("%s: message is %q", ref, public.Message)
		}
		if has, err := r.b.HasImage(r.ctx, ref); has || err != nil {
			t.Errorf("%s: has %t, %v", ref, has, err)
		}
	}
}

// TestPreparedImages: made once, kept, and thrown away when of no more use, but
// never under a sandbox.
func TestPreparedImages(t *testing.T) {
	r := newRig(t)
	base := r.freshBase()
	box := r.create(spec(base))
	if again := r.image(base); again.ID != box.image.ID {
		t.Errorf("prepared twice: %s, %s", box.image.ID, again.ID)
	}
	if other, err := r.server().PrepareImage(r.ctx, base); err != nil || other.ID != box.image.ID {
		t.Errorf("another server prepared %s, %v", other.ID, err)
	}
	r.prune(0)
	r.wantImage(box.image.ID, true)

	// With its base gone it is of no more use, but in use.
	if _, err := r.docker.ImageRemove(r.ctx, base, removeImageOptions); err != nil {
		t.Fatal(err)
	}
	r.prune(0)
	r.wantImage(box.image.ID, true)
	box.open()
	box.sh("true")
	if err := r.b.Remove(r.ctx, box.ref); err != nil {
		t.Fatal(err)
	}
	r.prune(time.Hour)
	r.wantImage(box.image.ID, true)
	r.prune(0)
	r.wantImage(box.image.ID, false)
}

// TestPreparationLeavesNothing: also when two prepare at once, or one fails.
func TestPreparationLeavesNothing(t *testing.T) {
	r := newRig(t)
	r.freshBase()
	list, err := r.docker.ContainerList(r.ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelInstance+"="+r.instance))})
	if err != nil || len(list) > 0 {
		t.Errorf("left: %+v, %v", list, err)
	}
	if err := r.b.bake(r.ctx, "mcp-sandbox/prepared:never", mustInspect(r, busybox), "x", guestBinary{content: nil}); err != nil {
		t.Logf("bake: %v", err)
	}
	if found, err := r.b.List(r.ctx); err != nil || len(found) > 0 {
		t.Errorf("left: %+v, %v", found, err)
	}
}
