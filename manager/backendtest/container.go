package backendtest

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// container is one fake container. Its methods need the Fake's lock.
type container struct {
	name, volume, key string
	state             manager.ContainerState
	managed           bool

	root     *node // with the volume's tree as its workspace
	readOnly bool  // everything but /workspace and /tmp
	guest    *guest
	deadline *time.Timer
	tasks    []*task // background execs, oldest first

	// alive ends with the container, and with it every process inside.
	alive context.Context
	die   context.CancelFunc
}

type volume struct {
	root    *node
	managed bool
}

// startLocked starts the container of ref, new or stopped, on its volume. A
// tmpfs does not survive a stop, and nothing else outside the workspace matters,
// so a restart gets a new root like a new container.
func (f *Fake) startLocked(ref manager.Ref, spec manager.Spec) *guest {
	c := f.containers[ref.Container]
	if c == nil {
		c = &container{name: ref.Container, volume: ref.Volume, key: ref.Key, managed: true}
		f.containers[ref.Container] = c
	}
	c.state = manager.ContainerRunning
	c.root, c.tasks = newRoot(f.volumes[ref.Volume].root), nil
	c.readOnly = spec.ReadOnlyRootfs
	c.alive, c.die = context.WithCancel(context.Background())
	return f.connectLocked(c)
}

// connectLocked gives the container a new guest; the one before is lost.
func (f *Fake) connectLocked(c *container) *guest {
	c.disconnect()
	c.guest = newGuest(f, c)
	return c.guest
}

func (f *Fake) removeContainerLocked(name string) {
	if c := f.containers[name]; c != nil {
		c.stop()
		delete(f.containers, name)
	}
}

// stop ends the container and all in it. It may be stopped already.
func (c *container) stop() {
	c.state = manager.ContainerStopped
	c.disconnect()
	if c.deadline != nil {
		c.deadline.Stop()
	}
	if c.die != nil {
		c.die()
	}
}

// disconnect ends the guest's connection, and the execs attached to it.
func (c *container) disconnect() {
	if c.guest != nil {
		c.guest.lose()
		c.guest = nil
	}
}

// setDeadline stops the container after a time, instead of any time set before.
func (c *container) setDeadline(f *Fake, remaining time.Duration) {
	if c.deadline != nil {
		c.deadline.Stop()
	}
	alive := c.alive
	c.deadline = time.AfterFunc(remaining, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if alive.Err() == nil {
			c.stop()
		}
	})
}
