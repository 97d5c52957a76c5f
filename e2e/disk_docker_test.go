package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestDockersDiskIsFull: the disk of all workspaces, and of Docker itself. What
// needs room is refused by its own code and changes nothing, what needs none goes
// on, and all works again when there is room.
func TestDockersDiskIsFull(t *testing.T) {
	t.Parallel()
	d := startDockerd(t, 128)
	s := d.serve(t)
	m := newModel(s)
	b, snap := m.baseline()
	m.must(m.write(b, "kept", "kept"))
	box := func(t *testing.T) *sandbox { return &sandbox{s.in(t), s.get(b.ID)} }

	for _, test := range []struct {
		name string
		try  func(t *testing.T, b *sandbox)
	}{
		{"filled by a command", func(t *testing.T, b *sandbox) {
			r := b.sh("cat /dev/zero > /tmp/x; cat /dev/zero > filler")
			if r.ExitCode == 0 || !strings.Contains(r.Stderr, "No space left") {
				t.Errorf("a command that fills the disk: exit code %d, %q", r.ExitCode, r.Stderr)
			}
			b.must("rm /tmp/x filler")
		}},
		{"files", func(t *testing.T, b *sandbox) {
			defer d.fill(0)()
			large := strings.Repeat("large", 100_000)
			wantFull(t, "write", m.write(m.sandboxes[b.ID], "kept", large))
			wantFull(t, "write of a new file", m.write(m.sandboxes[b.ID], m.newName(), large))
			b.do("PUT", b.at("/archive?path=unpacked"), tarOf(t, "f", large)).is(t, "PUT archive", 507, schemas.CodeInsufficientStorage)
			b.must("rm -rf unpacked") // part of it may be there, and is said to be
			if out := b.must("cat kept; ls -A | grep -v -e '^[a-z0-9]*$' || true"); out != "kept" {
				t.Errorf("after writes that found no room: %q", out)
			}
			b.must("cat g > /dev/null")
			m.must(m.renew(m.sandboxes[b.ID], 20*time.Minute))
		}},
		{"sandboxes", func(t *testing.T, b *sandbox) {
			defer d.fill(0)()
			known := m.sandboxes[b.ID]
			saved, err := m.snapshot(known) // into the data directory
			m.must(err)
			_, err = m.create(args{})
			wantFull(t, "create", err)
			_, err = m.fork(saved, 1)
			wantFull(t, "fork", err)
			wantFull(t, "rollback", m.rollback(known, saved))
			b.alive()
			m.must(m.deleteSnapshot(saved))
		}},
		{"in the middle of an unpacking", func(t *testing.T, b *sandbox) {
			known, err := m.create(args{})
			m.must(err)
			m.must(m.write(known, "large", incompressible(20<<20)))
			saved, err := m.snapshot(known)
			m.must(err)
			defer d.fill(10 << 10)()
			_, err = m.fork(saved, 1)
			wantFull(t, "fork", err)
			wantFull(t, "rollback", m.rollback(m.sandboxes[b.ID], saved))
			b.alive()
			m.must(m.destroy(known))
		}},
		{"an image that is to be prepared", func(t *testing.T, b *sandbox) {
			image := d.newImage(t)
			mend := d.fill(4 << 10) // less than the guest
			_, err := m.create(args{"image": image})
			mend()
			wantFull(t, "create", err)
			made, err := m.create(args{"image": image})
			m.must(err)
			m.must(m.destroy(made))
		}},
		{"a stopped container", func(t *testing.T, b *sandbox) {
			s.in(t).mustDocker("kill", s.containerOf(string(b.ID)))
			mend := d.fill(0)
			if _, err := b.trySh("true"); err != nil {
				wantFull(t, "exec", err)
			}
			mend()
		}},
		{"destroy", func(t *testing.T, b *sandbox) {
			fat, err := m.create(args{})
			m.must(err)
			defer d.fill(0)()
			m.must(m.destroy(fat))
		}},
	} {
		ok := t.Run(test.name, func(t *testing.T) {
			m.s = s.in(t)
			defer func() { m.s = s }()
			test.try(t, box(t))
			checkInvariants(t, s, m)
			m.must(m.rollback(b, snap))
			m.must(m.write(b, "kept", "kept"))
			_, err := m.fork(snap, 1)
			m.must(err)
			m.fewerBut(b)
			checkInvariants(t, s, m)
		})
		if !ok {
			return
		}
	}
}

// fill leaves so many KiB of the daemon's disk; mend gives all of it back.
func (d *dockerd) fill(leave int) (mend func()) { return fill(d.t, d.data, leave) }

// newImage makes an image that the server has not met.
func (d *dockerd) newImage(t *testing.T) string {
	t.Helper()
	const image = "mcp-sandbox/test-new"
	for _, step := range [][]string{
		{"create", "--name", "new", busybox, "true"}, {"commit", "--change", "ENV NEW=yes", "new", image}, {"rm", "new"},
	} {
		if out, err := d.docker(step...); err != nil {
			t.Fatalf("docker %v: %v %s", step, err, out)
		}
	}
	return image
}

// fewerBut destroys all sandboxes but one.
func (m *model) fewerBut(kept *modelSandbox) {
	m.s.t.Helper()
	for _, b := range m.sandboxes {
		if b != kept {
			m.must(m.destroy(b))
		}
	}
}
