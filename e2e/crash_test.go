package e2e

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// TestCrashMatrix is I7: for each operation, the server is killed at every point
// that the operation passes, started again, and checked.
//
// An operation is first run once to see which points it passes, and how often;
// each time is a case. A case in which the server does not die fails, and so
// does a point of the list at which no operation has died. What a step of Docker's
// leaves behind hardly depends on who asked for it: without -full, a few
// operations die at each of these.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	var died deaths
	ops := slices.DeleteFunc(crashOps(), func(op crashOp) bool { return op.full && !*full })
	t.Run("during", func(t *testing.T) {
		for _, op := range ops {
			t.Run(op.name, func(t *testing.T) {
				t.Parallel()
				crashEverywhere(t, op, &died)
			})
		}
	})
	if died.ops < len(ops) {
		return // only some were asked for, or one has failed
	}
	for _, point := range faults.Points {
		if died.at[point] == 0 {
			t.Errorf("no operation has died at %s", point)
		}
	}
	t.Logf("%d operations, %d cases", died.ops, died.cases)
}

// deaths are the points at which servers have died.
type deaths struct {
	mu         sync.Mutex
	at         map[string]int
	ops, cases int
}

// next reports whether an operation is to die at a point, and counts that.
func (d *deaths) next(point string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at == nil {
		d.at = map[string]int{}
	}
	name, _, _ := strings.Cut(point, ":")
	if !*full && strings.HasPrefix(name, "docker.") && d.at[name] >= 4 {
		return false
	}
	d.at[name]++
	d.cases++
	return true
}

func (d *deaths) operation() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops++
}

func crashEverywhere(t *testing.T, op crashOp, died *deaths) {
	s := startFaulty(t)
	m := newModel(s)
	b, err := m.create(args{}) // so that the image is ready, whose making is an operation of its own
	m.must(err)
	m.must(m.destroy(b))
	if op.setUp != nil {
		op.setUp(m)
	}
	points := append(tracePoints(m, op), op.later...)
	t.Logf("%d points: %s", len(points), strings.Join(points, " "))
	for _, point := range points {
		if !died.next(point) {
			continue
		}
		if crashAt(m, op, point); t.Failed() {
			t.Fatalf("it was killed at %s", point)
		}
	}
	died.operation()
}

// startFaulty runs a server that has points to die at.
func startFaulty(t *testing.T) *server {
	t.Helper()
	var s *server
	t.Cleanup(func() { // when the server is gone
		if s != nil {
			s.forgetImage()
			docker("network", "rm", s.ownNetwork())
		}
	})
	s = launch(t, program{door: client.REST, build: faulty, env: []string{"AGENT_SANDBOX_API_KEYS=alice:" + aliceKey}}, "--reap-interval-seconds=1")
	s.args = append(s.args, "--network-name="+s.ownNetwork())
	return s
}

// tracePoints runs an operation and returns the points that it passes.
func tracePoints(m *model, op crashOp) (points []string) {
	s := m.s
	s.t.Helper()
	act := op.prepare(m)
	s.Kill()
	s.up(op.args...)
	s.started(op)
	mark := len(s.Log())
	if op.start {
		mark = 0
	}
	act()
	if !op.pooled { // else the pool fills again, which is no part of it
		s.rest(m)
	}
	for _, found := range faultPoint.FindAllStringSubmatch(s.Log()[mark:], -1) {
		if point := found[1]; op.start || !ofStart(point) {
			points = append(points, point)
		}
	}
	checkInvariants(s.t, s, m)
	return points
}

var faultPoint = regexp.MustCompile(`(?m)^fault point (\S+)$`)

// ofStart tells the points that a server passes by itself, as it starts and now
// and then, from those of an operation.
func ofStart(point string) bool {
	return strings.HasPrefix(point, "start.") || strings.HasPrefix(point, "reconcile.")
}

// crashAt runs an operation on a server that dies at a point, and checks the
// next server.
func crashAt(m *model, op crashOp, point string) {
	s := m.s
	s.t.Helper()
	act := op.prepare(m)
	s.Kill()
	s.armed(point, op)
	act()
	if code, err := s.ExitCode(20 * time.Second); err != nil || code != -1 {
		s.Kill()
		s.t.Fatalf("the server did not die at %s: exit code %d, %v\n%s", point, code, err, tail(s.Log()))
	}
	m.note()
	s.up()
	checkInvariants(s.t, s, m)
}

// armed starts a server that dies at a point.
func (s *server) armed(point string, op crashOp) {
	s.t.Helper()
	o := s.launch(op.args...)
	o.Env = append(slices.Clone(o.Env), "MCP_SANDBOX_CRASH_AT="+point)
	if op.start { // it may die before it listens
		p, err := client.Launch(o)
		check(s.t, err)
		s.Client = &client.Client{Process: p}
		return
	}
	c, err := client.Start(ctx(s.t), o)
	check(s.t, err)
	s.use(c)
	s.started(op)
}

// started waits until the server has looked after what it has found, or is dead.
func (s *server) started(op crashOp) {
	s.t.Helper()
	last := "reconcile.done:1"
	if op.pooled {
		last = "pool.made:1"
	}
	eventually(s.t, settleTime, "the start is over", func() (bool, any) {
		return strings.Contains(s.Log(), "fault point "+last) || !s.Running(), tail(s.Log())
	})
}
