package guest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// jobs knows the background execs. They belong to the guest and not to a
// session: a server that comes back finds them as they are.
type jobs struct {
	ringSize int

	mu     sync.Mutex
	byID   map[string]*job // nil: is being started
	listed []*job          // those that were handed over, oldest first
}

func newJobs(memory int64) *jobs {
	return &jobs{ringSize: ringSize(memory), byID: map[string]*job{}}
}

// reserve takes an ID, if one more may be started.
func (js *jobs) reserve(id string) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	if _, known := js.byID[id]; known {
		return &protocol.Error{Code: protocol.ErrConflict, Message: "exec " + id + " is there already"}
	}
	if js.runningLocked() >= protocol.MaxBackground {
		return &protocol.Error{Code: protocol.ErrTooMany, Message: fmt.Sprintf("%d background execs run, which is the limit", protocol.MaxBackground)}
	}
	js.byID[id] = nil
	return nil
}

// running is how many that were handed over have not ended.
func (js *jobs) running() int {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.runningLocked()
}

func (js *jobs) runningLocked() (n int) {
	for _, j := range js.listed {
		if !j.hasEnded() {
			n++
		}
	}
	return n
}

// add makes a job known by its ID.
func (js *jobs) add(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	js.byID[j.id] = j
}

// list adds a job to those that are told of. When they become too many, the
// oldest that have ended go.
func (js *jobs) list(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	js.listed = append(js.listed, j)
	for len(js.listed) > protocol.MaxBackground {
		oldest := slices.IndexFunc(js.listed, (*job).hasEnded)
		if oldest < 0 {
			return // several were handed over at once
		}
		js.forgetLocked(js.listed[oldest].id)
	}
}

// forget drops a job with its output, or a reservation.
func (js *jobs) forget(id string) {
	js.mu.Lock()
	defer js.mu.Unlock()
	js.forgetLocked(id)
}

func (js *jobs) forgetLocked(id string) {
	j := js.byID[id]
	delete(js.byID, id)
	js.listed = slices.DeleteFunc(js.listed, func(l *job) bool { return l == j })
	if j != nil {
		j.tape.erase()
	}
}

func (js *jobs) find(id string) (*job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if j := js.byID[id]; j != nil {
		return j, nil
	}
	return nil, unknownExec(id)
}

func unknownExec(id string) error {
	if !protocol.ValidExecID(id) {
		return &protocol.Error{Code: protocol.ErrInvalid, Message: "not the ID of a background exec"}
	}
	return &protocol.Error{Code: protocol.ErrNotFound, Message: "no background exec " + id + " is known; ended ones are forgotten when new ones come"}
}

func (js *jobs) all() []*job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return slices.Clone(js.listed)
}

// marks are those that a job may still be killed by.
func (js *jobs) marks() map[uint64]int {
	js.mu.Lock()
	defer js.mu.Unlock()
	marks := map[uint64]int{}
	for _, j := range js.byID {
		if j != nil && j.run.process != nil {
			marks[j.run.process.mark]++
		}
	}
	return marks
}
