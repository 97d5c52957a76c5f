package tools

import (
	"context"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// stream is the client at the end of an SSE stream.
type stream struct {
	id    string // cannot be guessed
	owner manager.Owner
	conn  *conn
	ctx   context.Context // of its calls; they outlive the requests that brought them
}

// streams are the SSE streams that are open.
type streams struct {
	most int // of each owner

	mu  sync.Mutex
	all map[string]*stream
}

func newStreams(most int) *streams { return &streams{most: most, all: map[string]*stream{}} }

// open makes a stream known, unless its owner has too many.
func (s *streams) open(x *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	for _, other := range s.all {
		if other.owner == x.owner {
			own++
		}
	}
	if own >= s.most {
		return false
	}
	s.all[x.id] = x
	return true
}

func (s *streams) drop(x *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, x.id)
}

// find is the only way from an ID to a stream. Another owner's does not exist.
func (s *streams) find(o manager.Owner, id string) (*stream, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[id]
	return x, x != nil && x.owner == o
}
