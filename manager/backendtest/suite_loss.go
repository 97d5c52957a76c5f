package backendtest

import (
	"bytes"
	"context"
	"io"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

var lossChecks = []check{
	{"stopped container is inspected as stopped, its volume stays", func(e *env) {
		b := e.create()
		stop(e, b)
		if s := e.inspect(b.ref); s.Container != manager.ContainerStopped || !s.Volume {
			e.Errorf("inspect: %+v", s)
		}
	}},
	{"stop ends calls in flight with KindLost and closes done", func(e *env) {
		b := e.create()
		exec := e.inFlight(b, e.script("sleep 100"))
		stop(e, b)
		e.promptly("exec", func() { e.wantKind("exec", exec(), manager.KindLost) })
		e.closes("done", b.Done())
	}},
	{"every later call is KindLost", laterCallsAreLost},
	{"stop ends an unpack whose source is blocked", func(e *env) {
		b := e.create()
		r, w := io.Pipe()
		defer w.Close()
		done := make(chan error, 1)
		go func() {
			_, err := b.Unpack(e.ctx, unpackAll(true), r)
			done <- err
		}()
		if _, err := w.Write(make([]byte, 1)); err != nil { // it reads: it is under way
			e.Fatal(err)
		}
		stop(e, b)
		e.promptly("unpack", func() { e.wantKind("unpack", <-done, manager.KindLost) })
	}},
	{"open starts a stopped container on its volume", func(e *env) {
		b := e.create()
		e.sh(b, "echo kept > f; echo lost > /tmp/f")
		stop(e, b)
		again := e.open(b)
		if got := e.sh(again, "cat f; ls /tmp"); got != "kept\n" {
			e.Errorf("got %q", got)
		}
		if s := e.inspect(b.ref); s.Container != manager.ContainerRunning {
			e.Errorf("inspect: %+v", s)
		}
	}},
	{"open makes a container that is gone again on its volume", func(e *env) {
		b := e.create()
		e.write(b, "/workspace/f", "kept")
		hook(e, e.o.RemoveContainer, b.ref.Container)
		e.closes("done", b.Done())
		if s := e.inspect(b.ref); s.Container != manager.ContainerGone || !s.Volume {
			e.Errorf("inspect: %+v", s)
		}
		again := e.open(b)
		if got := e.read(again, "/workspace/f"); got != "kept" {
			e.Errorf("file is %q", got)
		}
	}},
	{"volume gone is KindFailed, and nothing is made", func(e *env) {
		b := e.create()
		hook(e, e.o.RemoveVolume, b.ref.Volume)
		_, err := e.b.Open(e.ctx, b.ref, b.spec, e.image)
		e.wantKind("open", err, manager.KindFailed)
		if e.inspect(b.ref).Volume {
			e.Error("a new volume was made")
		}
		remove(e, b.ref)
		wantGone(e, b.ref)
	}},
	{"remove works on a stopped container", func(e *env) {
		b := e.create()
		stop(e, b)
		remove(e, b.ref)
		wantGone(e, b.ref)
	}},
	{"remove works when the container is gone", func(e *env) {
		b := e.create()
		hook(e, e.o.RemoveContainer, b.ref.Container)
		remove(e, b.ref)
		wantGone(e, b.ref)
	}},
}

func laterCallsAreLost(e *env) {
	b := e.create()
	stop(e, b)
	e.closes("done", b.Done())
	_, err := e.run(b, e.script("true"))
	e.wantKind("exec", err, manager.KindLost)
	_, _, err = b.Read(e.ctx, "/workspace/f", 0, -1)
	e.wantKind("read", err, manager.KindLost)
	_, err = b.Write(e.ctx, "/workspace/f", manager.WriteOptions{MaxBytes: 1}, bytes.NewReader(nil))
	e.wantKind("write", err, manager.KindLost)
	_, _, err = b.List(e.ctx, "/workspace", 10, "")
	e.wantKind("list", err, manager.KindLost)
	_, err = b.Pack(e.ctx, packAll(false), io.Discard)
	e.wantKind("pack", err, manager.KindLost)
	_, err = b.Unpack(e.ctx, unpackAll(true), bytes.NewReader(emptyTar()))
	e.wantKind("unpack", err, manager.KindLost)
	e.wantKind("set deadline", b.SetDeadline(e.ctx, patience), manager.KindLost)
}

// stop stops a container from outside and waits for the backend to see it.
func stop(e *env, b *box) {
	e.Helper()
	hook(e, e.o.StopContainer, b.ref.Container)
	e.eventually("container stops", func() (any, bool) {
		s := e.inspect(b.ref)
		return s, s.Container == manager.ContainerStopped
	})
}

func hook(e *env, f func(context.Context, string) error, name string) {
	e.Helper()
	if f == nil {
		e.Skip("no way to do this from outside")
	}
	if err := f(e.ctx, name); err != nil {
		e.Fatalf("from outside: %v", err)
	}
}
