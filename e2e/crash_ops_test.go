package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// crashOp is something that a server may be killed during.
type crashOp struct {
	name  string
	setUp func(*model) // once
	// prepare is done by a server that lives; act then by one that may die.
	prepare func(*model) (act func())
	later   []string // moments between points, in the middle of what Docker is asked for
	args    []string // of the server that may die
	pooled  bool     // it waits for spares before, and not for what goes on afterwards
	full    bool     // it is left out but with -full
	start   bool     // what it may die during is its own start, on what prepare has left
}

// crashOps are what servers are killed during: each operation when it goes well,
// some when they do not, and starts on what a crash has left.
func crashOps() []crashOp {
	return []crashOp{
		{name: "create", later: moments("docker.volume_made:1", "docker.attached:1"), prepare: func(m *model) func() {
			m.fewer(3)
			return func() { m.create(args{}) }
		}},
		{name: "create from a new image", setUp: newImage, prepare: func(m *model) func() {
			m.fewer(0)
			m.s.forgetPrepared()
			return func() { m.create(args{"image": m.s.ownImage()}) }
		}},
		{name: "create from the pool", pooled: true, args: []string{"--warm-pool=1"}, prepare: func(m *model) func() {
			m.fewer(3)
			return func() { m.create(args{"cpus": 0.5}) }
		}},
		{name: "rollback from the pool", pooled: true, args: []string{"--warm-pool=1"}, prepare: func(m *model) func() {
			b, snap := m.baseline()
			return func() { m.rollback(b, snap) }
		}},
		{name: "create with network", prepare: func(m *model) func() {
			m.fewer(0)
			docker("network", "rm", m.s.ownNetwork()) // the server may just have done so
			return func() { m.create(args{"network": true}) }
		}},
		{name: "create that fails", setUp: openNetwork, prepare: func(m *model) func() {
			m.mayFail = true
			return func() { m.create(args{"network": true}) }
		}},
		{name: "exec", prepare: func(m *model) func() {
			b, _ := m.baseline()
			return func() { m.exec(b, m.newName(), "x") }
		}},
		{name: "exec in a stopped container", prepare: func(m *model) func() {
			b, _ := m.baseline()
			mustDocker(m.s.t, "kill", m.s.containerOf(string(b.ID)))
			return func() { m.exec(b, m.newName(), "x") }
		}},
		{name: "exec without a container", later: moments("docker.remaking:1"), prepare: func(m *model) func() {
			b, _ := m.baseline()
			mustDocker(m.s.t, "rm", "-f", m.s.containerOf(string(b.ID)))
			return func() { m.exec(b, m.newName(), "x") }
		}},
		{name: "write", later: moments("write.begun:1"), prepare: func(m *model) func() {
			b, _ := m.baseline()
			return func() { m.write(b, "f", strings.Repeat(m.newName(), 200_000)) }
		}},
		{name: "snapshot", later: moments("snapshot.begun:1"), prepare: func(m *model) func() {
			b, _ := m.baseline()
			return func() { m.snapshot(b) }
		}},
		{name: "upload", prepare: func(m *model) func() {
			return func() { m.upload("uploaded", strings.Repeat("x", 100_000)) }
		}},
		{name: "delete a snapshot", prepare: func(m *model) func() {
			b, _ := m.baseline()
			snap, err := m.snapshot(b)
			m.must(err)
			return func() { m.deleteSnapshot(snap) }
		}},
		{name: "rollback", prepare: func(m *model) func() {
			b, snap := m.baseline()
			return func() { m.rollback(b, snap) }
		}},
		{name: "rollback to a damaged snapshot", prepare: func(m *model) func() {
			b, snap := m.broken()
			return func() { m.rollback(b, snap) }
		}},
		{name: "fork", later: moments("snapshot.unpacking:1"), prepare: func(m *model) func() {
			m.fewer(3)
			_, snap := m.baseline()
			return func() { m.fork(snap, count(1, 2)) }
		}},
		{name: "fork of a damaged snapshot", prepare: func(m *model) func() {
			_, snap := m.broken()
			return func() { m.fork(snap, 1) }
		}},
		{name: "fork of a sandbox", prepare: func(m *model) func() {
			m.fewer(3)
			b, _ := m.baseline()
			return func() { m.forkSandbox(b) }
		}},
		{name: "destroy", later: moments("destroy.emptied:1"), prepare: func(m *model) func() {
			b, _ := m.baseline()
			return func() { m.destroy(b) }
		}},
		{name: "renew", prepare: func(m *model) func() {
			b, _ := m.baseline()
			return func() { m.renew(b, 500*time.Second) }
		}},
		{name: "expiry", prepare: func(m *model) func() {
			b, _ := m.baseline()
			m.must(m.renew(b, 2*time.Second))
			return func() { m.awaitExpiry(b) }
		}},
		{name: "fill the pool", start: true, args: []string{"--warm-pool=1"}, prepare: func(m *model) func() {
			return func() {
				eventually(m.s.t, settleTime, "the pool is full", func() (bool, any) {
					return strings.Contains(m.s.Log(), "fault point pool.made:1") || !m.s.Running(), tail(m.s.Log())
				})
			}
		}},
		startAfter("create", "docker.started"),
		startAfter("rollback", "snapshot.unpacking"),
		startAfter("snapshot", "snapshot.named").onlyFull(),
		startAfter("rollback", "rollback.switched").onlyFull(),
		startAfter("destroy", "docker.container_removed").onlyFull(),
		{name: "start on a lost record", start: true, prepare: func(m *model) func() {
			b, _ := m.baseline()
			b.mayGo = true
			m.s.Kill()
			m.must(os.Remove(filepath.Join(m.s.dir, "sandboxes", string(b.ID)+".json")))
			return func() {}
		}},
		{name: "start after an expiry", start: true, prepare: func(m *model) func() {
			b, _ := m.baseline()
			m.must(m.renew(b, time.Second))
			m.s.Kill()
			m.awaitExpiry(b)
			return func() {}
		}},
	}
}

// moments are some that come a little after points, in the middle of what is done
// then.
func moments(points ...string) (all []string) {
	for _, point := range points {
		for i := range count(2, 8) {
			all = append(all, fmt.Sprintf("%s+%dms", point, 1<<(8*i/count(2, 8)+1)))
		}
	}
	return all
}

func (op crashOp) onlyFull() crashOp {
	op.full = true
	return op
}

// startAfter is the start of a server on what an operation has left that was
// killed at a point.
func startAfter(name, point string) crashOp {
	return crashOp{name: "start after " + name + " at " + point, start: true, prepare: func(m *model) func() {
		for _, op := range crashOps() {
			if op.name == name {
				act := op.prepare(m)
				m.s.Kill()
				m.s.armed(point, op)
				act()
				_, err := m.s.ExitCode(20 * time.Second)
				m.must(err)
				m.note()
				return func() {}
			}
		}
		panic("no operation " + name)
	}}
}

// must stops the test.
func (m *model) must(err error) {
	m.s.t.Helper()
	if err != nil {
		m.s.t.Fatalf("%v\n%s", err, tail(m.s.Log()))
	}
}

// baseline is a sandbox that has changed since it was saved, and the snapshot.
func (m *model) baseline() (*modelSandbox, *modelSnapshot) {
	m.s.t.Helper()
	for _, snap := range m.snapshots {
		for _, b := range m.sandboxes {
			if !m.damaged[snap.ID] {
				m.must(m.write(b, "f", m.newName()))
				return b, snap
			}
		}
	}
	b, err := m.create(args{})
	m.must(err)
	m.must(m.write(b, "f", "saved"))
	m.must(m.write(b, "g", strings.Repeat("large\n", 100_000)))
	snap, err := m.snapshot(b)
	m.must(err)
	m.must(m.write(b, "f", "changed"))
	return b, snap
}

// broken is a sandbox with a snapshot that cannot be used.
func (m *model) broken() (*modelSandbox, *modelSnapshot) {
	m.s.t.Helper()
	b, _ := m.baseline()
	for id := range m.damaged {
		return b, m.snapshots[id]
	}
	snap, err := m.snapshot(b)
	m.must(err)
	m.damage(snap)
	return b, snap
}

// fewer destroys sandboxes until there are no more than n.
func (m *model) fewer(n int) {
	m.s.t.Helper()
	for _, b := range m.sandboxes {
		if len(m.sandboxes) > n {
			m.must(m.destroy(b))
		}
	}
}

// awaitExpiry waits for the end of a sandbox's time.
func (m *model) awaitExpiry(b *modelSandbox) {
	m.s.t.Helper()
	eventually(m.s.t, 10*time.Second, "its time is over", func() (bool, any) {
		_, must := b.expired(time.Now())
		return must, b.expires
	})
}

// ownImage is the name of an image that only this server uses.
func (s *server) ownImage() string { return "mcp-sandbox/test-crash-" + s.instance }

func newImage(m *model) {
	m.s.t.Helper()
	container := mustDocker(m.s.t, "create", busybox, "true")
	mustDocker(m.s.t, "commit", "--change", "LABEL for="+m.s.instance, container, m.s.ownImage())
	mustDocker(m.s.t, "rm", container)
}

// forgetPrepared removes what sandboxes of that image are made from.
func (s *server) forgetPrepared() {
	s.t.Helper()
	id := mustDocker(s.t, "inspect", "-f", "{{.Id}}", s.ownImage())
	for prepared := range strings.FieldsSeq(mustDocker(s.t, "images", "-q", "--filter", "label=io.agent-sandbox.prepared-from="+id)) {
		mustDocker(s.t, "rmi", prepared)
	}
}

// forgetImage removes the image, if there is one.
func (s *server) forgetImage() {
	s.t.Helper()
	if _, err := docker("inspect", s.ownImage()); err == nil {
		s.forgetPrepared()
		mustDocker(s.t, "rmi", s.ownImage())
	}
}

// ownNetwork is the name of the network for this server's sandboxes.
func (s *server) ownNetwork() string { return "sandbox-crash-" + s.instance }

// openNetwork is one of that name that does not keep sandboxes apart, so the
// server refuses it.
func openNetwork(m *model) { mustDocker(m.s.t, "network", "create", m.s.ownNetwork()) }
