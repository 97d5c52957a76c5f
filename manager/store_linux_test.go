package manager_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Records that cannot be read may be whole: without them their sandboxes would
// be orphans, and be removed. So the server does not start, and says which.
func TestUnreadableRecordsStopTheStart(t *testing.T) {
	needRoot(t)
	for name, other := range map[string]func(file string) string{
		"record":    func(file string) string { return file },
		"directory": filepath.Dir,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			id := s.create().ID
			s.Close()
			giveAway(t, s.cfg.DataDir)
			path := other(s.recordFile(id))
			must(t, os.Chown(path, 0, 0))
			_, err := newAsNobody(s)
			if err == nil || !strings.Contains(err.Error(), path) || !errors.Is(err, syscall.EACCES) {
				t.Errorf("error is %v", err)
			}
			if _, err := os.Stat(s.recordFile(id)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A snapshot that cannot be read is lost to nobody: it is not listed, and is
// again once it can be read.
func TestUnreadableSnapshotsStay(t *testing.T) {
	needRoot(t)
	s := start(t)
	snap := s.snap(s.create().ID)
	s.Close()
	giveAway(t, s.cfg.DataDir)
	must(t, os.Chown(filepath.Join(s.snapDir(), string(snap.ID)+".json"), 0, 0))
	m, err := newAsNobody(s)
	must(t, err)
	if l, err := m.ListSnapshots(t.Context(), owner, "", schemas.Page{}); err != nil || len(l.Snapshots) > 0 {
		t.Errorf("%+v, %v", l, err)
	}
	must(t, m.Close())
	if s = restart(t, s); len(s.snapshots()) != 1 {
		t.Errorf("listed are %q, files %q", s.snapshots(), s.snapFiles())
	}
	s.mustFork(snap.ID)
}

func needRoot(t *testing.T) {
	if os.Getuid() != 0 {
		skip.OrFail(t, "only root can make a file that its reader may not open, nor chmod")
	}
}

// newAsNobody makes a manager as a user for whom permissions count.
func newAsNobody(s *server) (m *manager.Manager, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		becomeNobody()
		m, err = manager.New(s.cfg, s.fake)
	}()
	<-done
	return m, err
}

const nobody = 65534

// giveAway lets nobody have a directory of the test's, and come to it.
func giveAway(t *testing.T, dir string) {
	for above := filepath.Dir(dir); above != filepath.Clean(os.TempDir()) && above != "/"; above = filepath.Dir(above) {
		must(t, os.Chmod(above, 0o755))
	}
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, nobody, nobody)
	}))
}

// becomeNobody has this goroutine's files opened as a user for whom permissions
// count. Its thread ends with it.
func becomeNobody() {
	runtime.LockOSThread()
	syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
