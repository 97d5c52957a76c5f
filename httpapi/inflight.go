package httpapi

import (
	"net/http"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// slots bound the calls that are under way. A few are kept for each owner, so
// that one who takes all the others does not shut the rest out.
type slots struct {
	most, kept int

	mu  sync.Mutex
	all int
	own map[manager.Owner]int
}

func newSlots(most int) *slots {
	return &slots{most: most, kept: most / 16, own: map[manager.Owner]int{}}
}

func (s *slots) take(o manager.Owner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.most && s.own[o] >= s.kept {
		return false
	}
	s.all++
	s.own[o]++
	return true
}

func (s *slots) give(o manager.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.own[o]--; s.own[o] == 0 {
		delete(s.own, o)
	}
}

// bound refuses calls beyond the number that may be under way, so that a caller
// is told and memory is not its queue. Health is always answered.
func (s *server) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if free(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		owner, _ := OwnerFrom(r.Context())
		if !s.slots.take(owner) {
			e := refuse(schemas.CodeLimitExceeded, "%d calls are under way; more are not taken at a time", s.slots.most)
			e.body.Hint = "Let some of them end, then try again."
			e.body.Retryable = true
			s.fail(w, r, e)
			return
		}
		defer s.slots.give(owner)
		next.ServeHTTP(w, r)
	})
}
