package e2e

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// smallDisk is a directory on a file system of its own; it takes root.
func smallDisk(t *testing.T, kilobytes int) string {
	t.Helper()
	asRoot(t, "mount a small disk")
	dir, err := os.MkdirTemp("", "small-disk-")
	check(t, err)
	check(t, unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk,mode=700", kilobytes)))
	t.Cleanup(func() {
		check(t, unix.Unmount(dir, unix.MNT_DETACH))
		check(t, os.RemoveAll(dir))
	})
	return dir
}

// fill leaves so many KiB of a disk; mend gives all of it back.
func fill(t *testing.T, dir string, leave int) (mend func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	check(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if leave > 0 {
		info, err := f.Stat()
		check(t, err)
		check(t, f.Truncate(info.Size()-int64(leave)<<10))
	}
	return func() { check(t, os.Remove(name)) }
}

// TestDataDirIsFull is L7: what cannot be kept is refused by its own code, what is
// kept stays, and it works again when there is room.
func TestDataDirIsFull(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 4096)
	s := launch(t, program{door: client.REST, dir: dir, env: []string{"AGENT_SANDBOX_API_KEYS=alice:" + aliceKey}}, "--reap-interval-seconds=1")
	m := newModel(s)
	b, snap := m.baseline()
	other, err := m.create(args{})
	m.must(err)
	for _, test := range []struct {
		name  string
		leave int // KiB
		try   func(t *testing.T)
	}{
		{"L7 full", 0, func(t *testing.T) {
			_, err := m.create(args{})
			wantFull(t, "create", err)
			_, err = m.fork(snap, 1)
			wantFull(t, "fork", err)
			_, err = m.snapshot(b)
			wantFull(t, "snapshot", err)
			wantFull(t, "rollback", m.rollback(b, snap))
			wantFull(t, "set timeout", m.renew(b, time.Hour))
			s.upload(1000).is(t, "upload", 507, schemas.CodeInsufficientStorage)
			m.must(m.write(b, "w", "needs no room there"))
			m.must(m.exec(b, m.newName(), "x"))
			m.must(m.destroy(other))
		}},
		{"L7 room for records", 64, func(t *testing.T) {
			fat, err := m.create(args{})
			m.must(err)
			m.must(m.write(fat, "fat", incompressible(1<<20)))
			_, err = m.snapshot(fat)
			wantFull(t, "snapshot", err)
			s.upload(1<<20).is(t, "upload", 507, schemas.CodeInsufficientStorage)
			_, err = m.forkSandbox(fat)
			wantFull(t, "fork of a sandbox", err)
			_, err = m.snapshot(b)
			m.must(err)
			m.must(m.rollback(b, snap))
			m.must(m.destroy(fat))
		}},
		{"L7 full at a start", 0, func(t *testing.T) {
			s.restart()
			m.must(m.exec(b, m.newName(), "x"))
			_, err := m.create(args{})
			wantFull(t, "create", err)
			for _, snap := range m.snapshots { // that makes room
				m.must(m.deleteSnapshot(snap))
				break
			}
			_, err = m.create(args{})
			m.must(err)
		}},
		{"L7 full in the middle of a rollback", 64, func(t *testing.T) {
			b, snap := m.baseline()
			var err error
			wait := inBackground(func() { err = m.rollback(b, snap) })
			eventually(t, 20*time.Second, "the rollback is under way", func() (bool, any) {
				text, _ := os.ReadFile(filepath.Join(dir, "sandboxes", string(b.ID)+".json"))
				return bytes.Contains(text, []byte("rolling_back")), string(text)
			})
			f, createErr := os.Create(filepath.Join(dir, "rest"))
			check(t, createErr)
			defer f.Close()
			defer os.Remove(f.Name())
			for {
				if _, err := f.Write(make([]byte, 512)); err != nil {
					break
				}
			}
			wait()
			wantFull(t, "rollback", err)
			m.must(m.exec(b, m.newName(), "x"))
		}},
	} {
		ok := t.Run(test.name, func(t *testing.T) {
			m.s = s.in(t)
			mend := fill(t, dir, test.leave)
			defer func() { m.s = s }()
			test.try(t)
			mend()
			checkInvariants(t, s, m)
			b, snap := m.baseline()
			m.must(m.rollback(b, snap))
			m.must(m.renew(b, 20*time.Minute))
			_, err := m.snapshot(b)
			m.must(err)
			m.fewer(2)
			checkInvariants(t, s, m)
		})
		if !ok {
			return
		}
	}
}

// wantFull: that there is no room is told as just that.
func wantFull(t *testing.T, what string, err error) {
	t.Helper()
	if client.Code(err) != string(schemas.CodeInsufficientStorage) {
		t.Errorf("%s on a full disk: %v", what, err)
	}
}

// upload sends a snapshot with one file of that size, which does not compress.
func (s *server) upload(size int) reply {
	s.t.Helper()
	return s.do("POST", "/v1/snapshots", tarOf(s.t, "f", incompressible(size)))
}

func tarOf(t *testing.T, name, content string) *bytes.Buffer {
	t.Helper()
	var tarred bytes.Buffer
	w := tar.NewWriter(&tarred)
	check(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}))
	_, err := w.Write([]byte(content))
	check(t, err)
	check(t, w.Close())
	return &tarred
}

// incompressible is text of that size of which zstd saves a fourth at most.
func incompressible(size int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var text strings.Builder
	for _, b := range random(size) {
		text.WriteByte(letters[b&63])
	}
	return text.String()
}
