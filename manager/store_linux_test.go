package manager_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Records that cannot be read may be whole: without them their sandboxes would
// be orphans, and be removed. So the server does not start.
func TestUnreadableRecordsStopTheStart(t *testing.T) {
	unreadable := map[string]func(t *testing.T, file string){
		"record": func(t *testing.T, file string) { // reading it fails with EIO
			must(t, os.Remove(file))
			must(t, os.Symlink("/proc/self/mem", file))
		},
		"directory": func(t *testing.T, file string) {
			if os.Getuid() == 0 {
				t.Skip("root may read everything")
			}
			must(t, os.Chmod(filepath.Dir(file), 0o300))
			t.Cleanup(func() { os.Chmod(filepath.Dir(file), 0o700) })
		},
	}
	for name, act := range unreadable {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			id := s.create().ID
			s.Close()
			act(t, s.recordFile(id))
			if m, err := manager.New(s.cfg, s.fake); err == nil {
				m.Close()
				t.Error("it starts")
			}
		})
	}
}

func TestRecordThatIsAFIFO(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.Close()
	must(t, os.Remove(s.recordFile(id)))
	must(t, syscall.Mkfifo(s.recordFile(id), 0o600))
	if s = restart(t, s); !s.isGone(id) {
		t.Error("found")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
