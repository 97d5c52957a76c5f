package backendtest

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// PrepareImage implements Backend.
func (f *Fake) PrepareImage(ctx context.Context, reference string) (manager.Image, error) {
	id := reference
	err := f.call(ctx, OpPrepareImage, func() error {
		if !f.local[reference] && !f.pullable[reference] {
			return fail(manager.KindInvalid, "image %q cannot be found or pulled", reference)
		}
		f.local[reference] = true
		if other := f.retagged[reference]; other != "" {
			id = other
		}
		return nil
	})
	if err != nil {
		return manager.Image{}, err
	}
	return manager.Image{ID: id, Env: []string{"PATH=/usr/bin:/bin"}}, nil
}

// HasImage implements Backend.
func (f *Fake) HasImage(ctx context.Context, reference string) (has bool, err error) {
	err = f.call(ctx, OpHasImage, func() error {
		has = f.local[reference]
		return nil
	})
	return has, err
}

// AddImage makes a reference known, only to the registry or locally too.
func (f *Fake) AddImage(reference string, local bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pullable[reference] = true
	if local {
		f.local[reference] = true
	}
}

// Retag makes a reference name another image than before.
func (f *Fake) Retag(reference string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.retagged[reference] + reference + "'"
	f.retagged[reference], f.local[id] = id, true
}

// RemoveImage makes a reference unknown, locally and to the registry.
func (f *Fake) RemoveImage(reference string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.local, reference)
	delete(f.pullable, reference)
}
