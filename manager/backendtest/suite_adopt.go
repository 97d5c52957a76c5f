package backendtest

import (
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// adoptChecks are the promises of manager.Adopter, for a backend that is one.
var adoptChecks = []check{
	{"fits by what a creation fixes", func(e *env) {
		a, made := e.adopter(), e.spec()
		for name, edit := range map[string]func(*manager.Spec){
			"network":       func(s *manager.Spec) { s.Network = true },
			"writable root": func(s *manager.Spec) { s.ReadOnlyRootfs = false },
		} {
			want := made
			if edit(&want); a.Fits(made, want) {
				e.Errorf("%s fits", name)
			}
		}
		want := made
		want.CPUs, want.PidsLimit, want.Env = 0.5, 100, map[string]string{"A": "b"}
		if !a.Fits(made, want) {
			e.Error("other limits do not fit")
		}
	}},
	{"the adopted has the new name, the old guest and its files", func(e *env) {
		b := e.create()
		e.write(b, "/workspace/f", "kept")
		to, want := e.adopt(b)
		if got := e.read(b, "/workspace/f"); got != "kept" {
			e.Errorf("through the old guest the file is %q", got)
		}
		if s := e.inspect(b.ref); s.Container != manager.ContainerGone {
			e.Errorf("under its old name it is %s", s.Container)
		}
		if s := e.inspect(to); s.Container != manager.ContainerRunning || !s.Volume {
			e.Errorf("inspect: %+v", s)
		}
		again := e.open(&box{ref: to, spec: want})
		e.closes("the old guest's done", b.Done())
		if got := e.read(again, "/workspace/f"); got != "kept" {
			e.Errorf("opened by its new name it has %q", got)
		}
	}},
	{"remove by the new name ends the guest and leaves nothing", func(e *env) {
		b := e.create()
		to, _ := e.adopt(b)
		remove(e, to)
		e.closes("done", b.Done())
		wantGone(e, to)
		wantListed(e, b.ref, false)
	}},
	{"a name that is taken is KindConflict, and what has it stays", func(e *env) {
		b, other := e.create(), e.create()
		e.write(other, "/workspace/f", "mine")
		to := b.ref
		to.Container = other.ref.Container
		err := e.adopter().Adopt(e.ctx, b.Guest, b.ref, to, b.spec, b.spec)
		e.wantKind("adopt", err, manager.KindConflict)
		if got := e.read(other, "/workspace/f"); got != "mine" {
			e.Errorf("file is %q", got)
		}
	}},
	{"what is gone cannot be adopted", func(e *env) {
		b := e.create()
		remove(e, b.ref)
		to := e.newRef(e.T)
		if err := e.adopter().Adopt(e.ctx, b.Guest, b.ref, to, b.spec, b.spec); err == nil {
			e.Error("it was")
		}
		wantGone(e, to)
	}},
}

func (e *env) adopter() manager.Adopter {
	a, ok := e.b.(manager.Adopter)
	if !ok {
		e.Skip("the backend does not adopt")
	}
	return a
}

// adopt gives b another name and other limits.
func (e *env) adopt(b *box) (manager.Ref, manager.Spec) {
	e.Helper()
	to, want := b.ref, b.spec
	to.Container = e.newRef(e.T).Container
	want.CPUs, want.PidsLimit = 0.5, 100
	if err := e.adopter().Adopt(e.ctx, b.Guest, b.ref, to, b.spec, want); err != nil {
		e.Fatalf("adopt: %v", err)
	}
	return to, want
}
