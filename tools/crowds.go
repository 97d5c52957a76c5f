package tools

import (
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// crowds counts the requests of each owner that are under way.
type crowds struct {
	mu sync.Mutex
	of map[manager.Owner]int
}

func (c *crowds) enter(o manager.Owner) { c.add(o, 1) }
func (c *crowds) leave(o manager.Owner) { c.add(o, -1) }

func (c *crowds) add(o manager.Owner, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[manager.Owner]int{}
	}
	if c.of[o] += n; c.of[o] == 0 {
		delete(c.of, o)
	}
}

func (c *crowds) count(o manager.Owner) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[o]
}
