package e2e

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// settleTime is how long a server may take to mend what an earlier one, or a
// broken Docker, has left.
const settleTime = 45 * time.Second

// checkInvariants checks what must hold of a server whenever it has come to
// rest, above all after it was killed and started again:
//
//   - what is listed works, with its right content and expiry, or is plainly failed;
//   - what was acknowledged is there, and what was destroyed is not;
//   - nothing of this server is in Docker but what its records name;
//   - a snapshot that is listed is whole;
//   - nothing is in the data directory but records and snapshots that are listed.
//
// m is what is known of its sandboxes and snapshots; what it left open is then
// settled by what was found. Without a model any content is right.
func checkInvariants(t *testing.T, s *server, m *model) {
	t.Helper()
	s = s.in(t)
	s.rest(m)
	sandboxes, snapshots := s.list(), s.snapshots()
	if m != nil {
		m.settle(t, sandboxes, snapshots)
	}
	for _, b := range sandboxes {
		checkSandbox(&sandbox{s, b}, m)
	}
	for _, snap := range snapshots {
		checkSnapshot(s, snap, m)
	}
}

// rest waits until there is nothing more for the server to do.
func (s *server) rest(m *model) {
	s.t.Helper()
	eventually(s.t, settleTime, "the server has come to rest", func() (bool, any) {
		unrest := s.unrest(m)
		return unrest == "", unrest
	})
}

// unrest is what a server has still to do: what is in Docker or the data
// directory and not as its lists say.
func (s *server) unrest(m *model) string {
	now := time.Now()
	allowed := map[string]bool{"lock": true, "lock.pid": true, "mcp-sandbox.id": true, "run/sock": true, "run/elsewhere": true}
	inDocker := map[string]bool{}
	network := false
	for _, b := range s.list() {
		if m != nil && m.mustBeGone(b.ID, now) {
			return fmt.Sprintf("%s is listed, and expired at %v", b.ID, b.ExpiresAt)
		}
		path := filepath.Join("sandboxes", string(b.ID)+".json")
		allowed[path], network = true, network || b.Network
		r, err := readRecord(filepath.Join(s.dir, path))
		if err != nil || r.State != "running" || r.Next != nil || len(r.Stale) > 0 {
			return fmt.Sprintf("%s is listed and has the record %+v, %v", b.ID, r, err)
		}
		inDocker["container "+r.Current.Ref.Container] = true
		inDocker["volume "+r.Current.Ref.Volume] = true
	}
	for _, snap := range s.snapshots() {
		allowed[filepath.Join("snapshots", string(snap.ID)+".json")] = true
		allowed[filepath.Join("snapshots", string(snap.ID)+".tar.zst")] = true
	}
	for _, file := range dataFiles(s.t, s.dir) {
		if !allowed[file] {
			return "the data directory has " + file
		}
	}
	spares := map[string]int{}
	for _, thing := range s.inDocker(m) {
		if kind, name, _ := strings.Cut(thing, " "); !inDocker[thing] && strings.HasPrefix(name, "agent-sandbox-spare-") && spares[kind] < s.poolSize {
			spares[kind]++
			continue
		}
		if !inDocker[thing] && (!network || !strings.HasPrefix(thing, "network ")) {
			return "Docker has " + thing
		}
	}
	return ""
}

// recordFile is the part of a record that says what a sandbox has in Docker.
type recordFile struct {
	State   string
	Current incarnationFile
	Next    *incarnationFile
	Stale   []refFile
}

type incarnationFile struct{ Ref refFile }

type refFile struct{ Container, Volume string }

func readRecord(path string) (r recordFile, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// dataFiles are the files in a data directory, by their path in it. What is
// gone before it can be looked at is not among them.
func dataFiles(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			all = append(all, path)
		}
		return err
	})
	check(t, err)
	return all
}

// inDocker is all there is of a server: by its label, and volumes also by the
// names of its sandboxes, for Docker may have made one without a label.
func (s *server) inDocker(m *model) (all []string) {
	s.t.Helper()
	label := "label=io.agent-sandbox.instance=" + s.instance
	for kind, list := range map[string][]string{
		"container": {"ps", "-a", "--filter", label, "--format", "{{.Names}}"},
		"network":   {"network", "ls", "--filter", label, "--format", "{{.Name}}"},
		"volume":    {"volume", "ls", "--format", `{{.Name}} {{.Label "io.agent-sandbox.instance"}}`},
	} {
		out, err := s.docker(list...)
		if err != nil {
			s.t.Errorf("docker %v: %v %s", list, err, out)
		}
		for line := range strings.Lines(out) {
			name, instance, labelled := strings.Cut(strings.TrimSpace(line), " ")
			if kind != "volume" || labelled && instance == s.instance || m != nil && m.named(name) {
				all = append(all, kind+" "+name)
			}
		}
	}
	return all
}

// checkSandbox checks that a sandbox works and has what it may have.
func checkSandbox(b *sandbox, m *model) {
	b.t.Helper()
	r, err := b.trySh("ls -A | xargs -r sha256sum")
	switch {
	case err != nil && m != nil && m.mayBeGone(&modelSandbox{expires: []span{{b.ExpiresAt, b.ExpiresAt}}}):
		return
	case err != nil && b.get(b.ID).Status == schemas.StatusFailed && client.Code(err) == string(schemas.CodeConflict) && (m == nil || m.mayFail):
		return
	case err != nil || r.ExitCode != 0 && m != nil:
		b.t.Errorf("%s (%s) does not work: %v, %+v\n%s", b.ID, b.Status, err, r, tail(b.Log()))
	case m != nil:
		m.settleFiles(b, parseSums(r.Stdout))
	}
}

// checkSnapshot checks that a snapshot's tar is whole and has what it may have.
func checkSnapshot(s *server, snap schemas.Snapshot, m *model) {
	s.t.Helper()
	found, err := s.readTar(snap)
	switch damaged := m != nil && m.damaged[snap.ID]; {
	case damaged && err == nil:
		s.t.Errorf("snapshot %s is damaged, and cannot be told from one that is whole", snap.ID)
	case damaged:
	case err != nil:
		s.t.Errorf("snapshot %+v: %v", snap, err)
	case m != nil:
		m.settleSnapshotFiles(s.t, snap, found)
	}
}

func (s *server) readTar(snap schemas.Snapshot) (files, error) {
	file, err := os.Open(filepath.Join(s.dir, "snapshots", string(snap.ID)+".tar.zst"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	stored := sha256.New()
	plain, err := zstd.NewReader(io.TeeReader(file, stored))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	found := files{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			content := sha256.New()
			if _, err := io.Copy(content, r); err != nil {
				return nil, err
			}
			found[strings.TrimPrefix(h.Name, "./")] = hex.EncodeToString(content.Sum(nil))
		}
	}
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return nil, err
	}
	if got := hex.EncodeToString(stored.Sum(nil)); got != snap.SHA256 {
		return nil, fmt.Errorf("its file has the checksum %s", got)
	}
	return found, nil
}
