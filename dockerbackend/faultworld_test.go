package dockerbackend

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/faultproxy"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// A world is a server with everything but its doors, a Docker in front of which
// things go wrong, and what the server has acknowledged so far.
type world struct {
	*rig
	proxy *faultproxy.Proxy
	cfg   manager.Config
	back  *Backend
	*manager.Manager

	boxes map[schemas.SandboxID]*acknowledged
	snaps map[schemas.SnapshotID]bool

	snapped string // the file f in the standing snapshot
}

// acknowledged is what must be found of a sandbox.
type acknowledged struct {
	schemas.Sandbox
	file []string // what its file f may hold; "" stands for no file
	runs
}

// runs counts commands that leave a line in the file runs.
type runs struct{ begun, done int }

const alice = manager.DefaultOwner

func newWorld(t *testing.T, pool int) *world {
	t.Helper()
	r := newRig(t, func(c *Config) { c.Log = nil })
	r.ctx = context.WithoutCancel(r.ctx) // acts are bounded one by one
	w := &world{
		rig: r, proxy: faultproxy.Start(t, r.docker.DaemonHost()),
		boxes: map[schemas.SandboxID]*acknowledged{}, snaps: map[schemas.SnapshotID]bool{},
		cfg: manager.Config{
			DataDir: t.TempDir(), DefaultImage: busybox, AllowedImages: []string{"*"}, AllowNetwork: true, MaxSandboxes: 20, WarmPool: pool,
			DefaultTimeoutSeconds: 3600, MaxTimeoutSeconds: 86400, DefaultCPUs: 1, MaxCPUs: 4, DefaultMemoryMB: 64, MaxMemoryMB: 128,
			DefaultPidsLimit: 32, MaxPidsLimit: 64, DefaultExecTimeoutSeconds: 30, MaxExecTimeoutSeconds: 60,
			MaxExecOutputBytes: 1 << 20, MaxFileBytes: 8 << 20, MaxSnapshotBytes: 64 << 20, ReapInterval: time.Second,
			Log: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug})),
		},
	}
	w.start()
	t.Cleanup(func() { w.Close() })
	return w
}

// start starts a server on the data directory; the one before was closed.
func (w *world) start() {
	w.Helper()
	api, err := client.NewClientWithOpts(client.WithHost(w.proxy.Host()))
	if err != nil {
		w.Fatal(err)
	}
	w.back = newBackend(w.b.cfg, w.b.user, api)
	w.back.log = w.cfg.Log
	if w.Manager, err = manager.New(w.cfg, w.back); err != nil {
		w.Fatal(err)
	}
	w.Manager.Start()
}

// Close ends the server; its sandboxes stay.
func (w *world) Close() {
	w.Manager.Close()
	w.back.Close()
}

// impatient is how long Docker may take while it is known to be in trouble.
var impatient = patience{
	pingEvery: 500 * time.Millisecond, ping: time.Second, look: 2 * time.Second, work: 5 * time.Second, destroy: 2 * time.Second,
}

func (w *world) note(b schemas.Sandbox, err error, file ...string) error {
	if err == nil {
		w.boxes[b.ID] = &acknowledged{Sandbox: b, file: file}
	}
	return err
}

// make makes a sandbox whose file f holds a text.
func (w *world) make(file string) schemas.Sandbox {
	w.Helper()
	b, err := w.Create(w.ctx, alice, schemas.CreateSandboxRequest{})
	if w.note(b, err, file) != nil {
		w.Fatalf("create: %v", err)
	}
	if err := w.write(b.ID, file); err != nil {
		w.Fatalf("write: %v", err)
	}
	return b
}

func (w *world) write(id schemas.SandboxID, file string) error {
	_, err := w.WriteFile(w.ctx, alice, id, "f", "", strings.NewReader(file))
	return err
}

func (w *world) snapshot(id schemas.SandboxID) (schemas.SnapshotID, error) {
	snap, err := w.Snapshot(w.ctx, alice, id, schemas.SnapshotRequest{})
	if err == nil {
		w.snaps[snap.ID] = true
	}
	return snap.ID, err
}

// read is what the file f of a sandbox holds, by a command.
func (w *world) read(ctx context.Context, id schemas.SandboxID) (string, error) {
	result, _, err := w.Exec(ctx, alice, id, schemas.ExecRequest{Command: schemas.Command{Shell: "cat f 2>/dev/null; true"}})
	return result.Stdout, err
}

func (w *world) destroy(id schemas.SandboxID) error {
	err := w.Destroy(w.ctx, alice, id)
	if err == nil || manager.KindOf(err) == manager.KindUnavailable { // given up
		delete(w.boxes, id)
	}
	return err
}

// ref is what a sandbox has in Docker, by its record.
func (w *world) ref(id schemas.SandboxID) (ref manager.Ref, err error) {
	data, err := os.ReadFile(filepath.Join(w.cfg.DataDir, "sandboxes", string(id)+".json"))
	if err != nil {
		return ref, err
	}
	var record struct {
		Current struct{ Ref manager.Ref }
	}
	err = json.Unmarshal(data, &record)
	return record.Current.Ref, err
}

// container is the name of a sandbox's container.
func (w *world) container(id schemas.SandboxID) string {
	w.Helper()
	ref, err := w.ref(id)
	if err != nil {
		w.Fatal(err)
	}
	return ref.Container
}

// containers are those of this server, seen past the proxy.
func (w *world) containers() (names []string) {
	all, err := w.b.docker.listContainers(w.ctx, ofInstance(w.instance))
	if err != nil {
		w.Errorf("list containers: %v", err)
	}
	for _, c := range all {
		names = append(names, containerName(c))
	}
	return names
}

func (w *world) kill(id schemas.SandboxID) {
	w.Helper()
	if err := w.docker.ContainerKill(w.ctx, w.container(id), "KILL"); err != nil {
		w.Fatal(err)
	}
}

func (w *world) removeContainer(id schemas.SandboxID) {
	w.Helper()
	if err := w.docker.ContainerRemove(w.ctx, w.container(id), container.RemoveOptions{Force: true}); err != nil {
		w.Fatal(err)
	}
}

// export reads a snapshot to its end, which compares its checksum.
func (w *world) export(id schemas.SnapshotID) error {
	return w.ExportSnapshot(w.ctx, alice, id, io.Discard)
}

const sparePrefix = "agent-sandbox-spare-"
