package backendtest

import (
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

var imageChecks = []check{
	{"name and probe", func(e *env) {
		if e.b.Name() == "" {
			e.Error("the backend has no name")
		}
		info, err := e.b.Probe(e.ctx)
		if err != nil || info.Version == "" {
			e.Errorf("probe: %+v, %v", info, err)
		}
	}},
	{"prepared image has an ID and its environment", func(e *env) {
		if e.image.ID == "" {
			e.Error("no ID")
		}
	}},
	{"concurrent preparations agree", func(e *env) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				image, err := e.b.PrepareImage(e.ctx, e.o.Image)
				if err != nil || image.ID != e.image.ID {
					e.Errorf("got %q, %v; want %q", image.ID, err, e.image.ID)
				}
			})
		}
		wg.Wait()
	}},
	{"HasImage tells what is there", func(e *env) {
		for reference, want := range map[string]bool{e.o.Image: true, "backendtest.invalid/no/such:image": false} {
			if has, err := e.b.HasImage(e.ctx, reference); err != nil || has != want {
				e.Errorf("%s: %t, %v", reference, has, err)
			}
		}
	}},
	{"unknown image is KindInvalid", func(e *env) {
		_, err := e.b.PrepareImage(e.ctx, "backendtest.invalid/no/such:image")
		e.wantKind("prepare", err, manager.KindInvalid)
	}},
	{"malformed reference is KindInvalid", func(e *env) {
		for _, reference := range []string{"", "UPPER/Case:x", "a b", "../x", "x:", "--help", "x@sha256:12"} {
			_, err := e.b.PrepareImage(e.ctx, reference)
			e.wantKind(reference, err, manager.KindInvalid)
		}
	}},
	{"create from an image that is gone is KindInvalid and leaves nothing", func(e *env) {
		ref := e.newRef(e.T)
		_, err := e.b.Create(e.ctx, ref, e.spec(), manager.Image{ID: "backendtest.invalid/no/such:image"})
		e.wantKind("create", err, manager.KindInvalid)
		wantGone(e, ref)
	}},
}
