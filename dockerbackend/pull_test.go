package dockerbackend

import (
	"bytes"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/image"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// registry starts a registry of our own and returns its address.
func (r *rig) registry(port string) string {
	r.Helper()
	start := exec.CommandContext(r.ctx, "../scripts/test-registry", "start", port)
	out, err := start.Output()
	if err != nil {
		r.Fatalf("start registry: %v", err)
	}
	r.Cleanup(func() { exec.Command("../scripts/test-registry", "stop", port).Run() })
	return strings.TrimSpace(string(out))
}

// push puts a fresh image into the registry, and no longer has it locally.
func (r *rig) push(registry string) string {
	r.Helper()
	base, name := r.freshBase(), registry+"/team/image:"+randomHex(4)
	if err := r.docker.ImageTag(r.ctx, base, name); err != nil {
		r.Fatal(err)
	}
	out, err := r.docker.ImagePush(r.ctx, name, image.PushOptions{RegistryAuth: "e30="})
	if err != nil {
		r.Fatalf("push: %v", err)
	}
	if text, err := io.ReadAll(out); err != nil || bytes.Contains(text, []byte(`"error"`)) {
		r.Fatalf("push: %s, %v", text, err)
	}
	out.Close()
	for _, ref := range []string{base, name} {
		if _, err := r.docker.ImageRemove(r.ctx, ref, removeImageOptions); err != nil {
			r.Fatal(err)
		}
	}
	return name
}

// TestPull: one pull for all who wait, none for what is there.
func TestPull(t *testing.T) {
	r := newRig(t)
	registry := r.registry("5057")
	name := r.push(registry)
	var logs lockedBuffer
	b := r.server(func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&logs, nil)) })
	var callers sync.WaitGroup
	images := make([]manager.Image, 10)
	for i := range images {
		callers.Go(func() {
			var err error
			if images[i], err = b.PrepareImage(r.ctx, name); err != nil {
				t.Errorf("prepare: %v", err)
			}
		})
	}
	callers.Wait()
	for _, i := range images {
		if i.ID != images[0].ID || i.ID == "" {
			t.Errorf("images differ: %q, %q", i.ID, images[0].ID)
		}
	}
	if pulls := strings.Count(logs.String(), "msg=\"pulling image\""); pulls != 1 {
		t.Errorf("%d pulls:\n%s", pulls, logs.String())
	}
	defer r.docker.ImageRemove(r.ctx, name, removeImageOptions)
	exec.Command("../scripts/test-registry", "stop", "5057").Run()
	if _, err := b.PrepareImage(r.ctx, name); err != nil {
		t.Errorf("without the registry: %v", err)
	}
}

// TestPullOfUnknownTag: the registry answers that it has none.
func TestPullOfUnknownTag(t *testing.T) {
	r := newRig(t)
	_, err := r.b.PrepareImage(r.ctx, r.registry("5058")+"/team/nothing:1")
	r.wantKind("prepare", err, manager.KindInvalid)
	if m := manager.Public(err).Message; !strings.Contains(m, "/team/nothing:1") || !strings.Contains(m, "has none") {
		t.Errorf("message: %q", m)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
