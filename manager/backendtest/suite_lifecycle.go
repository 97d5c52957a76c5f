package backendtest

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

var lifecycleChecks = []check{
	{"guest answers when create returns", func(e *env) {
		b := e.create()
		if got := e.sh(b, "echo hello"); got != "hello\n" {
			e.Errorf("got %q", got)
		}
		if s := e.inspect(b.ref); s.Container != manager.ContainerRunning || !s.Volume {
			e.Errorf("inspect: %+v", s)
		}
	}},
	{"new workspace is empty and writable", func(e *env) {
		b := e.create()
		if got := e.sh(b, "ls; touch a; mkdir d; ls"); got != "a\nd\n" {
			e.Errorf("got %q", got)
		}
	}},
	{"inspect of nothing", func(e *env) { wantGone(e, e.newRef(e.T)) }},
	{"name taken is KindConflict and what has it stays", func(e *env) {
		b := e.create()
		e.write(b, "/workspace/f", "mine")
		_, err := e.b.Create(e.ctx, b.ref, e.spec(), e.image)
		e.wantKind("create", err, manager.KindConflict)
		if got := e.read(b, "/workspace/f"); got != "mine" {
			e.Errorf("file is %q", got)
		}
	}},
	{"create with an ended context leaves nothing", func(e *env) {
		ref := e.newRef(e.T)
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		if _, err := e.b.Create(ctx, ref, e.spec(), e.image); err == nil {
			e.Error("create succeeded")
		}
		wantGone(e, ref)
	}},
	{"create cut off half-way leaves nothing after remove", func(e *env) {
		ref := e.newRef(e.T)
		ctx, cancel := context.WithCancel(e.ctx)
		done := make(chan error, 1)
		go func() {
			_, err := e.b.Create(ctx, ref, e.spec(), e.image)
			done <- err
		}()
		e.eventually("create begins", func() (any, bool) {
			s := e.inspect(ref)
			return s, s.Volume || s.Container != manager.ContainerGone || len(done) > 0
		})
		cancel()
		<-done
		remove(e, ref)
		wantGone(e, ref)
	}},
	{"open again in the same process", func(e *env) {
		b := e.create()
		e.write(b, "/workspace/f", "kept")
		again := e.open(b)
		if got := e.read(again, "/workspace/f"); got != "kept" {
			e.Errorf("file is %q", got)
		}
	}},
	{"open ends the connection before it", func(e *env) {
		b := e.create()
		again := e.open(b)
		e.closes("done of the first", b.Done())
		e.sh(again, "true")
	}},
	{"open in another process", openElsewhere},
	{"closing a guest leaves the sandbox", func(e *env) {
		b := e.create()
		e.write(b, "/workspace/f", "kept")
		if err := b.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
		e.closes("done", b.Done())
		if s := e.inspect(b.ref); s.Container != manager.ContainerRunning {
			e.Errorf("inspect: %+v", s)
		}
		if got := e.read(e.open(b), "/workspace/f"); got != "kept" {
			e.Errorf("file is %q", got)
		}
	}},
	{"two sandboxes share nothing", func(e *env) {
		a, b := e.create(), e.create()
		e.write(a, "/workspace/f", "a")
		if got := e.sh(b, "ls /workspace /tmp"); slices.Contains(lines(got), "f") {
			e.Errorf("the other sees %q", got)
		}
	}},
	{"remove is idempotent", func(e *env) {
		b := e.create()
		remove(e, b.ref)
		wantGone(e, b.ref)
		remove(e, b.ref)
		wantGone(e, b.ref)
	}},
	{"remove of what never was", func(e *env) { remove(e, e.newRef(e.T)) }},
	{"parallel removes agree", func(e *env) {
		b := e.create()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { remove(e, b.ref) })
		}
		wg.Wait()
		wantGone(e, b.ref)
	}},
	{"remove ends open guests", func(e *env) {
		b := e.create()
		exec := e.inFlight(b, e.script("sleep 100"))
		remove(e, b.ref)
		e.wantKind("exec in flight", exec(), manager.KindLost)
		e.closes("done", b.Done())
		_, err := b.Stat(e.ctx, "/workspace")
		e.wantKind("later call", err, manager.KindLost)
	}},
	{"name is free after remove", func(e *env) {
		b := e.create()
		e.write(b, "/workspace/f", "old")
		remove(e, b.ref)
		again := e.createAt(b.ref)
		if got := e.sh(again, "ls"); got != "" {
			e.Errorf("the new one has %q", got)
		}
	}},
	{"open after remove is KindFailed and makes nothing", func(e *env) {
		b := e.create()
		remove(e, b.ref)
		_, err := e.b.Open(e.ctx, b.ref, b.spec, e.image)
		e.wantKind("open", err, manager.KindFailed)
		wantGone(e, b.ref)
	}},
	{"list names container and volume until they are removed", func(e *env) {
		b := e.create()
		wantListed(e, b.ref, true)
		remove(e, b.ref)
		wantListed(e, b.ref, false)
	}},
	{"RemoveFound removes what list found, and again", func(e *env) {
		b := e.create()
		for _, kind := range []manager.FoundKind{manager.FoundContainer, manager.FoundVolume} {
			for _, f := range list(e) {
				if f.Kind != kind || f.Name != b.ref.Container && f.Name != b.ref.Volume {
					continue
				}
				for range 2 {
					if err := e.b.RemoveFound(e.ctx, f); err != nil {
						e.Errorf("remove %+v: %v", f, err)
					}
				}
			}
		}
		wantGone(e, b.ref)
	}},
}

func openElsewhere(e *env) {
	first := e.o.New(e.T)
	ref := e.newRef(e.T)
	g, err := first.Create(e.ctx, ref, e.spec(), e.image)
	if err != nil {
		e.Fatalf("create: %v", err)
	}
	b := &box{Guest: g, ref: ref, spec: e.spec()}
	e.write(b, "/workspace/f", "kept")
	exec := e.inFlight(b, e.script("while :; do echo x >> tick; sleep 0.05; done"))
	if err := first.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	e.wantKind("exec of the first", exec(), manager.KindLost)
	second := e.o.New(e.T)
	e.Cleanup(func() { second.Close() })
	if g, err = second.Open(e.ctx, ref, e.spec(), e.image); err != nil {
		e.Fatalf("open: %v", err)
	}
	b.Guest = g
	if got := e.read(b, "/workspace/f"); got != "kept" {
		e.Errorf("file is %q", got)
	}
	e.wantStill(b, "/workspace/tick")
}

func remove(e *env, ref manager.Ref) {
	e.Helper()
	if err := e.b.Remove(e.ctx, ref); err != nil {
		e.Errorf("remove: %v", err)
	}
}

func wantGone(e *env, ref manager.Ref) {
	e.Helper()
	if s := e.inspect(ref); s.Container != manager.ContainerGone || s.Volume {
		e.Errorf("something is left: %+v", s)
	}
}

func list(e *env) []manager.Found {
	e.Helper()
	found, err := e.b.List(e.ctx)
	if err != nil {
		e.Fatalf("list: %v", err)
	}
	return found
}

func wantListed(e *env, ref manager.Ref, want bool) {
	e.Helper()
	found := list(e)
	has := func(kind manager.FoundKind, name string) bool {
		return slices.ContainsFunc(found, func(f manager.Found) bool { return f.Kind == kind && f.Name == name })
	}
	if c, v := has(manager.FoundContainer, ref.Container), has(manager.FoundVolume, ref.Volume); c != want || v != want {
		e.Errorf("container listed: %t, volume listed: %t, want %t", c, v, want)
	}
}
