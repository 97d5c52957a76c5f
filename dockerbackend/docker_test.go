package dockerbackend

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// The helpers of all tests that need Docker. Without -short a missing Docker
// fails them: nothing here is worth much that was not tried on an engine.

const (
	busybox         = "mcp-sandbox/test-busybox"
	noShell         = "mcp-sandbox/test-noshell"
	withWorkspace   = "mcp-sandbox/test-workspace"
	withVolumes     = "mcp-sandbox/test-volume"
	volumeWorkspace = "mcp-sandbox/test-volume-workspace"
)

// rig is one test's server: its own instance, and Docker as seen from outside.
type rig struct {
	testing.TB
	ctx      context.Context
	b        *Backend
	docker   *client.Client
	instance string
	guest    string // program of this rig
}

func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // against hanging; many subtests share it
	docker, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := docker.ImageInspect(ctx, busybox); err != nil {
		t.Fatalf("Docker or its test images are missing (scripts/test-images makes them): %v", err)
	}
	r := &rig{TB: t, ctx: ctx, docker: docker, instance: "test-" + randomHex(6)}
	r.guest = uniqueGuest(t)
	r.b = r.server(change...)
	t.Cleanup(func() {
		defer cancel()
		r.sweep()
		docker.Close()
	})
	return r
}

// server makes a Backend of the rig's instance.
func (r *rig) server(change ...func(*Config)) *Backend {
	r.Helper()
	cfg := Config{
		Instance: r.instance, SandboxUser: "1000:1000", NetworkName: "net-" + r.instance, TmpSizeMB: 16,
		GuestPath: r.guest, Log: slog.New(slog.NewTextHandler(testWriter{r.TB}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&cfg)
	}
	b, err := New(cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { b.Close() })
	return b
}

// uniqueGuest gives a rig prepared images of its own, which it can remove under
// nobody: they are named after the guest's content, and bytes after the end of a
// program do not matter.
func uniqueGuest(t testing.TB) string {
	t.Helper()
	program, err := os.ReadFile(guestPath)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "guest")
	if err := os.WriteFile(path, append(program, randomHex(16)...), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil { // logging after the end of a test is a panic
		w.t.Log(strings.TrimSuffix(string(p), "\n"))
	}
	return len(p), nil
}

// sweep removes all that carries the rig's instance, prepared images included:
// the rig's guest is like no other, so nobody else uses those.
func (r *rig) sweep() {
	ours := filters.NewArgs(filters.Arg("label", labelInstance+"="+r.instance))
	containers, _ := r.docker.ContainerList(r.ctx, container.ListOptions{All: true, Filters: ours})
	for _, c := range containers {
		r.docker.ContainerRemove(r.ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
	}
	for _, v := range r.volumes() {
		r.docker.VolumeRemove(r.ctx, v, true)
	}
	r.docker.NetworkRemove(r.ctx, "net-"+r.instance)
	for range 2 { // children keep their parents from going the first time
		images, _ := r.docker.ImageList(r.ctx, image.ListOptions{All: true, Filters: ours})
		for _, i := range images {
			r.docker.ImageRemove(r.ctx, i.ID, image.RemoveOptions{Force: true}) // whatever its names
		}
	}
}

func (r *rig) image(ref string) manager.Image {
	r.Helper()
	i, err := r.b.PrepareImage(r.ctx, ref)
	if err != nil {
		r.Fatalf("prepare %s: %v", ref, err)
	}
	return i
}

func (r *rig) ref() manager.Ref {
	name := "sb-" + r.instance + "-" + randomHex(4)
	return manager.Ref{Container: name, Volume: name, Key: randomHex(32)}
}

func spec(ref string) manager.Spec {
	return manager.Spec{Image: ref, CPUs: 1, MemoryMB: 64, PidsLimit: 32, ReadOnlyRootfs: true}
}

// sandbox is one that a test made.
type sandbox struct {
	manager.Guest
	r     *rig
	ref   manager.Ref
	spec  manager.Spec
	image manager.Image
}

func (r *rig) create(s manager.Spec) *sandbox {
	r.Helper()
	box := &sandbox{r: r, ref: r.ref(), spec: s, image: r.image(s.Image)}
	var err error
	if box.Guest, err = r.b.Create(r.ctx, box.ref, s, box.image); err != nil {
		r.Fatalf("create: %v", err)
	}
	return box
}

func (s *sandbox) open() {
	s.r.Helper()
	var err error
	if s.Guest, err = s.r.b.Open(s.r.ctx, s.ref, s.spec, s.image); err != nil {
		s.r.Fatalf("open: %v", err)
	}
}

func (s *sandbox) run(argv ...string) (string, manager.Exit) {
	s.r.Helper()
	out, exit, err := s.try(s.r.ctx, argv...)
	if err != nil {
		s.r.Fatalf("exec %q: %v", argv, err)
	}
	return out, exit
}

// sh runs a shell command that has to succeed, and returns all its output.
func (s *sandbox) sh(command string) string {
	s.r.Helper()
	out, exit := s.run("/bin/sh", "-c", command)
	if exit.Code != 0 {
		s.r.Errorf("%q exits %d: %s", command, exit.Code, out)
	}
	return out
}

func (s *sandbox) try(ctx context.Context, argv ...string) (string, manager.Exit, error) {
	var out bytes.Buffer
	exit, err := s.Exec(ctx, manager.Command{
		Argv: argv, Dir: "/workspace", Env: []string{"PATH=/bin", "HOME=/workspace"}, MaxStdout: -1, MaxStderr: -1,
	}, func(_ schemas.Stream, chunk []byte) error {
		out.Write(chunk)
		return nil
	})
	return out.String(), exit, err
}

func (r *rig) inspect(name string) container.InspectResponse {
	r.Helper()
	c, err := r.docker.ContainerInspect(r.ctx, name)
	if err != nil {
		r.Fatalf("inspect: %v", err)
	}
	return c
}

func (r *rig) wantKind(what string, err error, kind manager.Kind) {
	r.Helper()
	if err == nil || manager.KindOf(err) != kind {
		r.Errorf("%s: got %v (kind %d), want kind %d", what, err, manager.KindOf(err), kind)
	}
}
