package dockerbackend

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

// slowStart is a Docker that has started a container and does not say so before
// held returns, or says that it has not.
type slowStart struct {
	dockerAPI
	held func() error
}

func (d slowStart) ContainerStart(ctx context.Context, name string, o container.StartOptions) error {
	if err := d.dockerAPI.ContainerStart(ctx, name, o); err != nil {
		return err
	}
	return d.held()
}

// The guest is greeted while Docker is still about its start; when that then
// fails nothing is left, and nobody stays connected.
func TestGreetsWhileDockerStarts(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]error{"started": nil, "failed": errors.New("failed late")} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			ref, image := r.ref(), r.image(busybox)
			r.b.docker.api = slowStart{r.b.docker.api, func() error {
				for deadline := time.Now().Add(20 * time.Second); r.b.connected() == 0; time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Error("the guest is not greeted before Docker's answer")
						break
					}
				}
				return fails
			}}
			_, err := r.b.Create(r.ctx, ref, spec(busybox), image)
			if (err != nil) != (fails != nil) {
				t.Fatalf("create: %v", err)
			}
			if fails == nil {
				return
			}
			eventually(t, "end of the connection", func() bool { return r.b.connected() == 0 })
			if left := r.volumes(); len(left) > 0 {
				t.Errorf("volumes left: %v", left)
			}
		})
	}
}

func (b *Backend) connected() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.guests)
}
