package backendtest

import (
	"context"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Client returns a Backend that is one of several clients of the Fake: its
// Close ends the guests that it opened, and no others.
func (f *Fake) Client() manager.Backend { return &client{Fake: f} }

type client struct {
	*Fake
	mu     sync.Mutex
	guests []manager.Guest
}

func (c *client) Create(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (manager.Guest, error) {
	return c.keep(c.Fake.Create(ctx, ref, spec, image))
}

func (c *client) Open(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (manager.Guest, error) {
	return c.keep(c.Fake.Open(ctx, ref, spec, image))
}

func (c *client) keep(g manager.Guest, err error) (manager.Guest, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.guests = append(c.guests, g)
	}
	return g, err
}

func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.guests {
		g.Close()
	}
	return nil
}
