package manager_test

import (
	"os"
	"path/filepath"
	"runtime"
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
			must(t, os.Chmod(filepath.Dir(file), 0o300))
			t.Cleanup(func() { os.Chmod(filepath.Dir(file), 0o700) })
			if os.Getuid() == 0 {
				giveAway(t, filepath.Dir(filepath.Dir(file)))
			}
		},
	}
	for name, act := range unreadable {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			id := s.create().ID
			s.Close()
			act(t, s.recordFile(id))
			started := make(chan bool)
			go func() {
				if name == "directory" && os.Getuid() == 0 {
					becomeNobody()
				}
				m, err := manager.New(s.cfg, s.fake)
				if err == nil {
					m.Close()
				}
				started <- err == nil
			}()
			if <-started {
				t.Error("it starts")
			}
		})
	}
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
