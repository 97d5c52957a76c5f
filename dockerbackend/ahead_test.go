package dockerbackend

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

// basesWait is a Docker that tells of a base only after it was asked about what
// was prepared from it.
type basesWait struct {
	dockerAPI
	asked chan struct{} // closed when it was
	once  sync.Once
	t     *testing.T
}

func (d *basesWait) ImageInspect(ctx context.Context, name string, o ...client.ImageInspectOption) (image.InspectResponse, error) {
	if strings.HasPrefix(name, preparedRepository) {
		d.once.Do(func() { close(d.asked) })
		return d.dockerAPI.ImageInspect(ctx, name, o...)
	}
	select {
	case <-d.asked:
	case <-time.After(5 * time.Second):
		d.t.Errorf("%s is asked about by itself", name)
	}
	return d.dockerAPI.ImageInspect(ctx, name, o...)
}

// An image that was used before is looked up beside its base, and what is found is
// used only while the reference names that base, and the prepared image is there.
func TestPreparedImageIsLookedUpAhead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, other := r.freshBase(), r.freshBase()
	first := r.image(base)
	real := r.b.docker.api
	r.b.docker.api = &basesWait{dockerAPI: real, asked: make(chan struct{}), t: t}
	if again := r.image(base); again.ID != first.ID {
		t.Errorf("prepared as %s and then as %s", first.ID, again.ID)
	}
	r.b.docker.api = real
	if err := r.docker.ImageTag(r.ctx, other, base); err != nil {
		t.Fatal(err)
	}
	moved, want := r.image(base), r.image(other)
	if moved.ID != want.ID || moved.ID == first.ID {
		t.Errorf("a name that moved from %s to %s gives %s", first.ID, want.ID, moved.ID)
	}
	if _, err := r.docker.ImageRemove(r.ctx, want.ID, removeImageOptions); err != nil {
		t.Fatal(err)
	}
	r.wantImage(r.image(other).ID, true)
}
