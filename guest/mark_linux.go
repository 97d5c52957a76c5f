package guest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// marker gives each command a number that all its descendants carry and that
// can be read off any process: the soft limit of POSIX message queue bytes.
// Almost nothing uses those queues, every fork and exec hands the limit on, and
// prlimit(2) reads it off processes of the same user even if they left the
// group, the session and the environment behind.
//
// Where the limit cannot be set (gVisor) an environment variable stands in,
// together with parents and sessions; see [marker.byEnvironment].
type marker struct {
	limit  unix.Rlimit // the guest's own; unusable if Max is 0
	last   uint64      // under spawner.starting
	inUse  map[uint64]int
	held   func() map[uint64]int // marks that must not be given to another yet
	usable bool
}

const markVariable = "MCP_SANDBOX_EXEC"

func newMarker(held func() map[uint64]int) *marker {
	m := &marker{held: held}
	if rawPrlimit(0, unix.RLIMIT_MSGQUEUE, nil, &m.limit) != 0 || m.limit.Max < 1<<10 {
		return m
	}
	restore := m.apply(1)
	var now unix.Rlimit
	rawPrlimit(0, unix.RLIMIT_MSGQUEUE, nil, &now)
	restore()
	m.usable = now.Cur == 1
	return m
}

// next returns a mark that no process carries. Numbers run out (819 200 by
// default) before a sandbox does, and a daemon started long ago may still carry
// one, so when they start again those in use are skipped.
func (m *marker) next() uint64 {
	for {
		m.last++
		if m.usable && m.last >= m.limit.Max {
			m.last, m.inUse = 1, marksInUse()
			maps.Copy(m.inUse, m.held())
		}
		if m.last != m.limit.Cur && m.inUse[m.last] == 0 {
			return m.last
		}
	}
}

// marksInUse counts the processes that carry each mark.
func marksInUse() map[uint64]int {
	used := map[uint64]int{}
	for _, pid := range processes() {
		if mark, ok := markOf(pid); ok {
			used[mark]++
		}
	}
	return used
}

// set makes the next fork inherit mark, and returns what undoes that.
func (m *marker) set(mark uint64) (restore func()) {
	if !m.usable {
		return func() {}
	}
	return m.apply(mark)
}

func (m *marker) apply(mark uint64) (restore func()) {
	rawPrlimit(0, unix.RLIMIT_MSGQUEUE, &unix.Rlimit{Cur: mark, Max: m.limit.Max}, nil)
	return func() { rawPrlimit(0, unix.RLIMIT_MSGQUEUE, &m.limit, nil) }
}

// environment is env, with the mark in it where nothing better is to be had.
func (m *marker) environment(env []string, mark uint64) []string {
	if m.usable {
		return env
	}
	return append(env[:len(env):len(env)], fmt.Sprintf("%s=%d", markVariable, mark))
}

func markOf(pid int) (uint64, bool) {
	var limit unix.Rlimit
	errno := rawPrlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit)
	return limit.Cur, errno == 0
}

// descendants lists the living processes that p started, however indirectly, or
// the first few of them.
func (m *marker) descendants(p *process, limit int) (found []stat) {
	if !m.usable {
		found = m.byEnvironment(p)
		return found[:min(len(found), limit)]
	}
	for _, pid := range processes() {
		if len(found) == limit {
			break
		}
		mark, ok := markOf(pid)
		if !ok || mark != p.mark {
			continue
		}
		if s := statOf(pid); s.alive() {
			found = append(found, s)
		}
	}
	return found
}

// others lists the processes that p did not start.
func (m *marker) others(p *process) (found []stat) {
	if !m.usable {
		ours := map[int]bool{}
		for _, s := range m.byEnvironment(p) {
			ours[s.pid] = true
		}
		return slices.DeleteFunc(stats(), func(s stat) bool { return ours[s.pid] })
	}
	for _, pid := range processes() {
		if mark, ok := markOf(pid); !ok || mark != p.mark {
			found = append(found, statOf(pid))
		}
	}
	return found
}

// byEnvironment finds processes that have the variable or p's session, and all
// their children, and what it found before, whose parents may be dead by now.
// One that clears its environment, leaves the session and loses its parent
// before the hunt begins escapes; only where the kernel offers nothing better.
func (m *marker) byEnvironment(p *process) (found []stat) {
	all := stats()
	member := map[int]bool{}
	entry := markVariable + "=" + strconv.FormatUint(p.mark, 10)
	for _, s := range all {
		member[s.pid] = s.session == p.pid || p.seen[identity{s.pid, s.start}] || hasVariable(s.pid, entry)
	}
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if !member[s.pid] && member[s.parent] {
				member[s.pid], grown = true, true
			}
		}
	}
	for _, s := range all {
		if member[s.pid] && s.alive() {
			p.seen[identity{s.pid, s.start}] = true
			found = append(found, s)
		}
	}
	return found
}
