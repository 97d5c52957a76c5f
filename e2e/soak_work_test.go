package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// worker is one client of a soak, with sandboxes and snapshots of its own.
type worker struct {
	*soak
	rng   *rand.Rand
	boxes []*modelSandbox
	snaps []*modelSnapshot
}

// work goes on until it is over, or a server that ends refuses it.
func (w *worker) work(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		default:
		}
		w.calls.Add(1)
		if len(w.boxes) == 0 {
			w.keep(w.m.create(args{}))
			continue
		}
		w.act(w.boxes[w.rng.IntN(len(w.boxes))])
	}
}

// act makes one call of those that there are, cheap ones more often.
func (w *worker) act(b *modelSandbox) {
	switch n := w.rng.IntN(100); {
	case n < 20:
		w.m.exec(b, w.m.newName(), fmt.Sprint(w.rng.Uint64()))
	case n < 40:
		w.m.write(b, fmt.Sprint("f", w.rng.IntN(5)), strings.Repeat(fmt.Sprint(w.rng.Uint64()), 1+w.rng.IntN(10_000)))
	case n < 50:
		w.stream(b)
	case n < 55:
		w.vanish(b)
	case n < 60:
		w.timeOut(b)
	case n < 65:
		w.flood(b)
	case n < 72:
		w.m.renew(b, time.Duration(300+w.rng.IntN(300))*time.Second)
	case n < 79:
		w.save(b)
	case n < 84 && len(w.snaps) > 0:
		w.m.rollback(b, w.snaps[w.rng.IntN(len(w.snaps))])
	case n < 88 && len(w.boxes) < 3 && len(w.snaps) > 0:
		made, _ := w.m.fork(w.snaps[w.rng.IntN(len(w.snaps))], 1+w.rng.IntN(2))
		w.boxes = append(w.boxes, made...)
	case n < 91 && len(w.boxes) < 3:
		w.keep(w.m.forkSandbox(b))
	case n < 94 && len(w.boxes) < 4:
		w.m.create(args{"timeout_seconds": 1 + w.rng.IntN(3)}) // and is forgotten
	default:
		w.destroy(b)
	}
}

func (w *worker) keep(b *modelSandbox, err error) {
	if err == nil {
		w.boxes = append(w.boxes, b)
	}
}

func (w *worker) save(b *modelSandbox) {
	if len(w.snaps) == 3 {
		w.m.deleteSnapshot(w.snaps[0])
		w.snaps = w.snaps[1:]
	}
	if snap, err := w.m.snapshot(b); err == nil {
		w.snaps = append(w.snaps, snap)
	}
}

func (w *worker) destroy(b *modelSandbox) {
	w.m.destroy(b)
	w.boxes = without(w.boxes, func(x *modelSandbox) bool { return x == b })
}

// fault reports what a call that changes nothing should have said, unless the
// server ends under it.
func (w *worker) fault(what string, got any, err error) {
	if !w.ending.Load() {
		w.m.s.t.Errorf("%s: %.500v, %v", what, got, err)
	}
}

// stream wants all lines of a command as they come.
func (w *worker) stream(b *modelSandbox) {
	n := 1 + w.rng.IntN(20_000)
	r, err := w.m.s.Live(ctx(w.m.s.t), args{"sandbox_id": b.ID, "command": fmt.Sprint("seq ", n)}, func(string) {})
	if err != nil || strings.Count(r.Stdout, "\n") != n || !strings.HasSuffix(r.Stdout, fmt.Sprint(n, "\n")) {
		w.fault(fmt.Sprint("a stream of ", n, " lines"), len(r.Stdout), err)
	}
}

// vanish is a client that goes away in the middle of a command, which then ends
// with all that it has started.
func (w *worker) vanish(b *modelSandbox) {
	c, cancel := context.WithTimeout(ctx(w.m.s.t), time.Duration(w.rng.IntN(300))*time.Millisecond)
	defer cancel()
	command := []string{"sleep 60 & sleep 60", "yes", "sleep 60 | cat"}[w.rng.IntN(3)]
	if w.rng.IntN(2) == 0 {
		w.m.s.Live(c, args{"sandbox_id": b.ID, "command": command, "timeout_seconds": 100}, func(string) {})
	} else {
		w.m.s.Call(c, "exec", args{"sandbox_id": b.ID, "command": command, "timeout_seconds": 100}, nil)
	}
	deadline := time.Now().Add(20 * time.Second)
	for !w.ending.Load() {
		box := &sandbox{w.m.s, schemas.Sandbox{ID: b.ID}}
		if n := processesOrNone(box); n == 0 {
			return
		} else if time.Now().After(deadline) {
			w.fault("processes of a client that is gone", n, nil)
			return
		}
	}
}

func (w *worker) timeOut(b *modelSandbox) {
	r, err := try[schemas.ExecResult](w.m.s, "exec", args{"sandbox_id": b.ID, "command": "echo begun; sleep 60", "timeout_seconds": 0.5})
	if err != nil || !r.TimedOut || r.Stdout != "begun\n" {
		w.fault("a command that takes too long", r, err)
	}
}

// flood is a command that prints much more than is wanted.
func (w *worker) flood(b *modelSandbox) {
	const size, want = 20_000_000, 100_000
	r, err := try[schemas.ExecResult](w.m.s, "exec", args{"sandbox_id": b.ID, "command": fmt.Sprint("yes | head -c ", size), "max_output_bytes": want})
	if err != nil || !r.Truncated || r.StdoutBytes != size || len(r.Stdout) != want {
		w.fault("a flood", len(r.Stdout), err)
	}
}
