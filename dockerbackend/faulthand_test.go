package dockerbackend

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"golang.org/x/sync/errgroup"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// hand is something that a person does to a sandbox's container or volume.
type hand struct {
	name string
	lay  func(*world, manager.Ref) error
	undo func(*world, manager.Ref) error // nil: the server copes by itself
	// loses: the workspace is gone with it.
	loses bool
}

var hands = []hand{
	{name: "kill", lay: func(w *world, r manager.Ref) error { return w.docker.ContainerKill(w.ctx, r.Container, "KILL") }},
	{name: "stop", lay: func(w *world, r manager.Ref) error {
		now := 0
		return w.docker.ContainerStop(w.ctx, r.Container, container.StopOptions{Timeout: &now})
	}},
	{name: "restart", lay: func(w *world, r manager.Ref) error {
		now := 0
		return w.docker.ContainerRestart(w.ctx, r.Container, container.StopOptions{Timeout: &now})
	}},
	{name: "pause", lay: func(w *world, r manager.Ref) error { return w.docker.ContainerPause(w.ctx, r.Container) },
		undo: func(w *world, r manager.Ref) error { return w.docker.ContainerUnpause(w.ctx, r.Container) }},
	{name: "remove the container", lay: removeByHand},
	{name: "remove the volume", loses: true, lay: func(w *world, r manager.Ref) error {
		if err := removeByHand(w, r); err != nil {
			return err
		}
		return w.docker.VolumeRemove(w.ctx, r.Volume, true)
	}},
}

func removeByHand(w *world, r manager.Ref) error {
	return w.docker.ContainerRemove(w.ctx, r.Container, container.RemoveOptions{Force: true})
}

// TestThingsDoneByHand: each is done before, and in the middle of, each operation,
// to the sandbox it works on or, where it makes one, to that.
func TestThingsDoneByHand(t *testing.T) {
	t.Parallel()
	var workers errgroup.Group
	workers.SetLimit(3)
	for _, h := range hands {
		workers.Go(func() error {
			t.Run(h.name, func(t *testing.T) {
				w := newWorld(t, 0)
				s := w.standing()
				for i, op := range streamOperations {
					moments := momentsOf(op)
					if !*full {
						moments = moments[i%len(moments):][:1]
					}
					for _, moment := range moments {
						w.tryByHand(h, op, moment, s)
					}
				}
			})
			return nil
		})
	}
	workers.Wait()
}

// before is the moment before an operation begins.
const before = -1

// momentsOf are the times after the start of an operation, or after it has made a
// container, at which something is done.
func momentsOf(op operation) []time.Duration {
	if op.makes() {
		return []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}
	}
	return []time.Duration{before, 0, 20 * time.Millisecond, 100 * time.Millisecond}
}

func (op operation) makes() bool {
	return slices.Contains([]string{"create", "fork", "rollback"}, op.name)
}

func (w *world) tryByHand(h hand, op operation, moment time.Duration, s *standing) {
	w.Helper()
	what := fmt.Sprintf("%s, %v after the start of %s", h.name, moment, op.name)
	act := op.prepare(w, s)
	target, err := w.ref(s.box)
	if err != nil {
		w.Fatal(err)
	}
	if moment == before {
		w.lay(h, target)
	}
	end, known, done := w.bound(), w.containers(), make(chan error, 1)
	began := time.Now()
	go func() { done <- act() }()
	if moment != before {
		if op.makes() {
			target = w.awaitNew(known)
		}
		time.Sleep(moment)
		w.lay(h, target)
	}
	err = <-done
	took := time.Since(began)
	end()
	if took > callLimit {
		w.Errorf("%s took %v", what, took)
	}
	w.wantPlain(what, err)
	if h.undo != nil {
		_ = h.undo(w, target) // it may be gone
	}
	if h.loses {
		w.revive(what, s)
	}
	w.wantWhole(what)
	w.tidy(s)
	w.Logf("--- %s took %v: %v", what, took.Round(time.Millisecond), err)
	if w.Failed() {
		w.FailNow()
	}
}

func (w *world) lay(h hand, r manager.Ref) {
	if err := h.lay(w, r); err != nil {
		w.Logf("%s: %v", h.name, err) // it may have gone meanwhile
	}
}

// awaitNew waits for a container that is just being made.
func (w *world) awaitNew(known []string) manager.Ref {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
		for _, name := range w.containers() {
			if !slices.Contains(known, name) {
				return manager.Ref{Container: name, Volume: name}
			}
		}
	}
	w.Log("no container was made")
	return manager.Ref{}
}

// wantPlain checks an error that comes of what somebody did: it may be a conflict
// with that.
func (w *world) wantPlain(what string, err error) {
	w.Helper()
	if manager.Public(err).Code != schemas.CodeConflict {
		w.wantTyped(what, err)
	}
}

// revive rolls back the sandboxes whose workspace is gone: they must say so, and
// what was acknowledged of them is what the snapshot holds.
func (w *world) revive(what string, s *standing) {
	w.Helper()
	for id, b := range w.boxes {
		if !w.awaitFailed(id) {
			continue
		}
		if _, err := w.Rollback(w.ctx, alice, id, schemas.RollbackRequest{SnapshotID: s.snap}); err != nil {
			w.Errorf("after %s, roll back: %v", what, err)
		}
		b.file, b.runs = []string{w.snapped}, runs{}
	}
}

// awaitFailed waits until a sandbox works or has failed, and tells which.
func (w *world) awaitFailed(id schemas.SandboxID) (failed bool) {
	w.Helper()
	for deadline := time.Now().Add(healTime); ; time.Sleep(50 * time.Millisecond) {
		_, err := w.read(w.ctx, id)
		if err == nil {
			return false
		}
		got, statusErr := w.Get(w.ctx, alice, id)
		if statusErr == nil && got.Status == schemas.StatusFailed {
			return true
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s neither works (%v) nor has failed: %s, %v", id, err, got.Status, statusErr)
		}
	}
}
