package backendtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Fake is a Backend in memory. It keeps the whole contract, and has switches to
// break things with: see Inject, GoDown, and the methods in outside.go.
type Fake struct {
	mu         sync.Mutex // guards all below, and every file tree
	containers map[string]*container
	volumes    map[string]*volume
	local      map[string]bool   // image references that are here
	pullable   map[string]bool   // image references that a registry has
	retagged   map[string]string // by reference: the ID it names now
	down       bool
	calls      map[Op]int
	faults     map[Op][]*Fault
	delay      func() time.Duration // see Slow; may be nil
}

var _ manager.Backend = (*Fake)(nil)

// BusyboxImage is a reference that every new Fake has locally.
const BusyboxImage = "busybox:latest"

// NewFake returns a Fake that has BusyboxImage and manager.BaseImage locally,
// and can pull manager.FallbackImage. When the test ends, so does all it ran.
func NewFake(t testing.TB) *Fake {
	f := &Fake{
		containers: map[string]*container{},
		volumes:    map[string]*volume{},
		local:      map[string]bool{BusyboxImage: true, manager.BaseImage: true},
		pullable:   map[string]bool{manager.FallbackImage: true},
		retagged:   map[string]string{},
		calls:      map[Op]int{},
		faults:     map[Op][]*Fault{},
	}
	t.Cleanup(f.killAll)
	return f
}

// Name implements Backend.
func (f *Fake) Name() string { return "fake" }

// Probe implements Backend.
func (f *Fake) Probe(ctx context.Context) (manager.BackendInfo, error) {
	err := f.call(ctx, OpProbe, func() error { return nil })
	if err != nil {
		return manager.BackendInfo{}, err
	}
	return manager.BackendInfo{Version: "fake", API: "1", Runtime: "fake"}, nil
}

// Create implements Backend.
func (f *Fake) Create(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (manager.Guest, error) {
	var g *guest
	err := f.call(ctx, OpCreate, func() error {
		if f.containers[ref.Container] != nil || f.volumes[ref.Volume] != nil {
			return fail(manager.KindConflict, "container or volume name is taken")
		}
		if !f.local[image.ID] {
			return fail(manager.KindInvalid, "image %s is not there", spec.Image)
		}
		f.volumes[ref.Volume] = &volume{root: newDir(0o755), managed: true}
		g = f.startLocked(ref, spec)
		return nil
	})
	return given(g, err)
}

// Open implements Backend.
func (f *Fake) Open(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (manager.Guest, error) {
	var g *guest
	err := f.call(ctx, OpOpen, func() error {
		if v := f.volumes[ref.Volume]; v == nil || !v.managed {
			return fail(manager.KindFailed, "the workspace is gone")
		}
		c := f.containers[ref.Container]
		switch {
		case c != nil && !c.managed:
			return fail(manager.KindConflict, "something else has the container's name")
		case c == nil && !f.local[image.ID]:
			return fail(manager.KindInvalid, "image %s is not there", spec.Image)
		case c != nil && c.state == manager.ContainerPaused:
			return fail(manager.KindBackend, "the container is paused from outside")
		case c != nil && c.key != ref.Key:
			return fail(manager.KindBackend, "the guest does not answer to this key")
		case c != nil && c.state == manager.ContainerRunning:
			g = f.connectLocked(c)
		default:
			g = f.startLocked(ref, spec)
		}
		return nil
	})
	return given(g, err)
}

// given keeps a nil *guest from becoming a non-nil Guest. A guest that was made
// by a call whose answer got lost is closed.
func given(g *guest, err error) (manager.Guest, error) {
	if err != nil {
		if g != nil {
			g.Close()
		}
		return nil, err
	}
	return g, nil
}

// Inspect implements Backend.
func (f *Fake) Inspect(ctx context.Context, ref manager.Ref) (manager.State, error) {
	s := manager.State{Container: manager.ContainerGone}
	err := f.call(ctx, OpInspect, func() error {
		if c := f.containers[ref.Container]; c != nil && c.managed {
			s.Container = c.state
		}
		v := f.volumes[ref.Volume]
		s.Volume = v != nil && v.managed
		return nil
	})
	return s, err
}

// Remove implements Backend.
func (f *Fake) Remove(ctx context.Context, ref manager.Ref) error {
	return f.call(ctx, OpRemove, func() error {
		if c := f.containers[ref.Container]; c != nil && c.managed {
			f.removeContainerLocked(ref.Container)
		}
		if v := f.volumes[ref.Volume]; v != nil && v.managed {
			delete(f.volumes, ref.Volume)
		}
		return nil
	})
}

// List implements Backend.
func (f *Fake) List(ctx context.Context) ([]manager.Found, error) {
	var found []manager.Found
	err := f.call(ctx, OpList, func() error {
		for _, name := range slices.Sorted(maps.Keys(f.containers)) {
			if c := f.containers[name]; c.managed {
				found = append(found, manager.Found{Kind: manager.FoundContainer, Name: name})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(f.volumes)) {
			if v := f.volumes[name]; v.managed {
				found = append(found, manager.Found{Kind: manager.FoundVolume, Name: name})
			}
		}
		return nil
	})
	return found, err
}

// RemoveFound implements Backend.
func (f *Fake) RemoveFound(ctx context.Context, found manager.Found) error {
	return f.call(ctx, OpRemoveFound, func() error {
		if found.Kind == manager.FoundContainer {
			f.removeContainerLocked(found.Name)
		} else {
			delete(f.volumes, found.Name)
		}
		return nil
	})
}

// Close implements Backend. A closed Fake may be used again, as a daemon may by
// the next server: that is how a test restarts a manager.
func (f *Fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.containers {
		c.disconnect()
	}
	return nil
}

func fail(k manager.Kind, format string, args ...any) *manager.Error {
	return &manager.Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}
