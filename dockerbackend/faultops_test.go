package dockerbackend

import (
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// operation is something that a client or the server does and that needs Docker.
// prepare makes what it needs, with Docker well, and returns the act itself. The
// act keeps the books: after an error, what was there before must still be.
type operation struct {
	name    string
	prepare func(*world, *standing) func() error
	pool    int // spares that the server keeps
}

// standing is what the acts are done to. It stays for all of them.
type standing struct {
	box   schemas.SandboxID // its file f holds whatever the books say
	snap  schemas.SnapshotID
	image string // has files in /workspace
}

func (w *world) standing() *standing {
	w.Helper()
	w.snapped = "in the snapshot"
	b := w.make(w.snapped)
	snap, err := w.snapshot(b.ID)
	if err != nil {
		w.Fatalf("snapshot: %v", err)
	}
	return &standing{b.ID, snap, withWorkspace}
}

var operations = []operation{
	{"create", func(w *world, _ *standing) func() error {
		return func() error {
			b, err := w.Create(w.ctx, alice, schemas.CreateSandboxRequest{})
			return w.note(b, err, "")
		}
	}, 0},
	{"create with network", func(w *world, _ *standing) func() error {
		yes := true
		return func() error {
			b, err := w.Create(w.ctx, alice, schemas.CreateSandboxRequest{Network: &yes})
			return w.note(b, err, "")
		}
	}, 0},
	{"create from a new image", func(w *world, s *standing) func() error {
		w.forgetPrepared(s.image)
		return func() error {
			b, err := w.Create(w.ctx, alice, schemas.CreateSandboxRequest{Image: s.image})
			return w.note(b, err, "")
		}
	}, 0},
	{"fork", func(w *world, s *standing) func() error {
		return func() error {
			r, err := w.Fork(w.ctx, alice, s.snap, schemas.ForkRequest{})
			if err == nil {
				w.note(r.Sandboxes[0], nil, w.snapped)
			}
			return err
		}
	}, 0},
	{"rollback", func(w *world, s *standing) func() error {
		w.rewrite(s.box, "now "+randomHex(4))
		return w.rollback(s)
	}, 0},
	{"destroy", func(w *world, _ *standing) func() error {
		b := w.make("to be destroyed")
		return func() error { return w.destroy(b.ID) }
	}, 0},
	{"create from the pool", func(w *world, _ *standing) func() error {
		return func() error {
			b, err := w.Create(w.ctx, alice, schemas.CreateSandboxRequest{})
			return w.note(b, err, "")
		}
	}, 1},
	{"rollback from the pool", func(w *world, s *standing) func() error {
		w.rewrite(s.box, "now "+randomHex(4))
		return w.rollback(s)
	}, 1},
	{"create after a restart", func(w *world, _ *standing) func() error {
		w.Close()
		return func() error {
			w.restart()
			b, err := w.Create(w.ctx, alice, schemas.CreateSandboxRequest{})
			return w.note(b, err, "")
		}
	}, 0},
	{"exec after a restart", func(w *world, s *standing) func() error {
		w.Close()
		return func() error {
			w.restart()
			_, err := w.read(w.ctx, s.box)
			return err
		}
	}, 0},
	{"exec in a stopped container", func(w *world, s *standing) func() error {
		w.kill(s.box)
		return func() error { _, err := w.read(w.ctx, s.box); return err }
	}, 0},
	{"exec in a removed container", func(w *world, s *standing) func() error {
		w.removeContainer(s.box)
		return func() error { _, err := w.read(w.ctx, s.box); return err }
	}, 0},
	{"write on a new stream", func(w *world, s *standing) func() error {
		w.cutStreams()
		return w.rewriting(s, randomHex(20))
	}, 0},
	{"snapshot on a new stream", func(w *world, s *standing) func() error {
		w.cutStreams()
		return func() error { _, err := w.snapshot(s.box); return err }
	}, 0},
	{"set timeout of a stopped sandbox", func(w *world, s *standing) func() error {
		w.kill(s.box)
		return w.renewal(s)
	}, 0},
	{"set timeout on a new stream", func(w *world, s *standing) func() error {
		w.cutStreams()
		return w.renewal(s)
	}, 0},
	{"reconcile at start", func(w *world, s *standing) func() error {
		w.Close()
		w.orphan("agent-sandbox-sb_0000000000000000-1")
		return func() error {
			w.restart()
			time.Sleep(2 * time.Second) // it is the background that acts
			return nil
		}
	}, 0},
}

// restart starts a server when Docker is in trouble already.
func (w *world) restart() {
	w.Helper()
	patience := w.back.docker.patience.Load()
	w.start()
	w.back.docker.patience.Store(patience)
}

// cutStreams cuts the streams of all guests, and waits until that was noticed: a
// call that is under way then ends with an error.
func (w *world) cutStreams() {
	w.Helper()
	w.proxy.CutStreams()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(time.Millisecond) {
		w.back.mu.Lock()
		open := len(w.back.guests)
		w.back.mu.Unlock()
		if open == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%d guests have not noticed that their streams were cut", open)
		}
	}
}

func (w *world) rollback(s *standing) func() error {
	return func() error {
		_, err := w.Rollback(w.ctx, alice, s.box, schemas.RollbackRequest{SnapshotID: s.snap})
		if err == nil {
			w.boxes[s.box].file, w.boxes[s.box].runs = []string{w.snapped}, runs{}
		}
		return err
	}
}

// rewriting gives the file f a new text; after an error it has that or the one
// before.
func (w *world) rewriting(s *standing, text string) func() error {
	return func() error {
		before := w.boxes[s.box].file
		w.boxes[s.box].file = append(before[:len(before):len(before)], text)
		err := w.write(s.box, text)
		if err == nil {
			w.boxes[s.box].file = []string{text}
		}
		return err
	}
}

func (w *world) renewal(s *standing) func() error {
	return func() error {
		b, err := w.SetTimeout(w.ctx, alice, s.box, schemas.SetTimeoutRequest{TimeoutSeconds: 1800})
		if err == nil {
			w.boxes[s.box].ExpiresAt = b.ExpiresAt
		}
		return err
	}
}

// rewrite gives a sandbox's file a new text.
func (w *world) rewrite(id schemas.SandboxID, text string) {
	w.Helper()
	if err := w.write(id, text); err != nil {
		w.Fatalf("write: %v", err)
	}
	w.boxes[id].file = []string{text}
}

// orphan makes a container and a volume of this server that no record knows.
func (w *world) orphan(name string) {
	w.Helper()
	ours := labels(w.instance, nil)
	if _, err := w.docker.VolumeCreate(w.ctx, volume.CreateOptions{Name: name + w.instance, Labels: ours}); err != nil {
		w.Fatal(err)
	}
	c := &container.Config{Image: busybox, Cmd: []string{"sh"}, Labels: ours}
	if _, err := w.docker.ContainerCreate(w.ctx, c, nil, nil, nil, name+w.instance); err != nil {
		w.Fatal(err)
	}
}

// forgetPrepared has the next sandbox of an image prepare it.
func (w *world) forgetPrepared(base string) {
	w.Helper()
	guest, err := w.b.guest.get(mustInspect(w.rig, base).Architecture)
	if err != nil {
		w.Fatal(err)
	}
	name := preparedName(mustInspect(w.rig, base).ID, w.b.recipe(guest))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := w.docker.ImageRemove(w.ctx, name, removeImageOptions)
		if err == nil || strings.Contains(err.Error(), "No such image") {
			return
		}
		if !cerrdefs.IsConflict(err) || time.Now().After(deadline) { // a sandbox of it may be on its way out
			w.Fatal(err)
		}
	}
}
