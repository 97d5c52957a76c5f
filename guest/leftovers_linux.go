package guest

import (
	"sync"
	"time"
)

// leftovers remembers commands that ended by themselves, for what they left
// running. That may go on as long as it likes (a server in the background
// is meant to), unless it is a fork bomb, whose command ends at once: then
// nothing could ever be started again. So when the process limit is used up,
// the timeout that the command was given counts after all, and those that are
// more than half of all processes go at once.
type leftovers struct {
	mu    sync.Mutex
	until map[uint64]time.Time // timeout, by mark
}

// never is the timeout of a command that has none.
var never = time.Unix(1<<40, 0)

// maxLeftovers is when those whose processes have all ended are forgotten.
const maxLeftovers = 1024

func (l *leftovers) add(p *process, timeout time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.until) >= maxLeftovers {
		used := marksInUse()
		for mark := range l.until {
			if used[mark] == 0 {
				delete(l.until, mark)
			}
		}
	}
	if l.until == nil {
		l.until = map[uint64]time.Time{}
	}
	l.until[p.mark] = timeout
}

// worst is the mark with the most processes whose time is up, or that are most
// of all, if those are a stampede.
func (l *leftovers) worst(now time.Time) (worst uint64, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most, total := stampede-1, 0
	used := marksInUse()
	for _, n := range used {
		total += n
	}
	for mark, n := range used {
		until, left := l.until[mark]
		if left && n > most && (now.After(until) || 2*n > total) {
			worst, most, found = mark, n, true
		}
	}
	return worst, found
}

// relieve kills what used up the process limit, if it may, and reports whether
// another try to start something is worth it.
func (g *guest) relieve() bool {
	if !g.marks.usable {
		return false
	}
	mark, found := g.leftovers.worst(time.Now())
	return found && g.killTree(&process{mark: mark}, time.Now().Add(killPatience))
}
