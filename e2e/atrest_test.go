package e2e

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestAtRest: all that a server keeps lies in its data directory, for nobody else
// to read at any moment, although the umask would let everybody do everything.
func TestAtRest(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	s := launch(t, program{
		door: client.REST, build: unmasked(t),
		env: []string{"AGENT_SANDBOX_API_KEYS=alice:" + aliceKey, "TMPDIR=" + temp, "XDG_RUNTIME_DIR=", "XDG_STATE_HOME=" + temp, "HOME=" + temp},
	})
	w := watchModes(t, s.dir, temp)
	b := s.create(args{"env": args{"A": "b"}})
	b.must("echo text > f; mkdir d")
	b.write("g", strings.Repeat("x", 1<<20))
	call[schemas.ExecResult](s, "exec", args{"sandbox_id": b.ID, "command": "sleep 60", "background": true})
	w.after("create and use")
	snap := b.snapshot("x")
	w.after("snapshot")
	b.rollback(snap.ID)
	w.after("rollback")
	child := s.fork(snap.ID, args{"env": args{"C": "d"}})
	call[schemas.Sandbox](s, "sandbox_set_timeout", args{"sandbox_id": child.ID, "timeout_seconds": 600})
	w.after("fork and renew")
	archive := s.do(http.MethodGet, "/v1/snapshots/"+string(snap.ID)+"/archive", nil)
	if r := s.do(http.MethodPost, "/v1/snapshots?image="+busybox, strings.NewReader(archive.body)); r.status != 201 {
		t.Errorf("upload a snapshot: %d %s", r.status, r.body)
	}
	s.do(http.MethodPost, "/v1/snapshots?image="+busybox, strings.NewReader("no tar")).is(t, "upload nonsense", 400, schemas.CodeInvalidRequest)
	w.after("download and upload")
	s.create(args{"image": "mcp-sandbox/test-workspace"})
	s.refuse("sandbox_create", args{"image": "localhost:1/no/such"}, schemas.CodeInvalidRequest, schemas.CodeBackendError, schemas.CodeBackendUnavailable)
	w.after("other images")
	check(t, s.destroy(child.ID))
	check(t, s.deleteSnapshot(snap.ID))
	w.after("destroy and delete")
	s.restart()
	b.alive()
	w.after("a crash and a start")
	s.Kill()
	for _, record := range []string{"sandboxes/sb_0123456789abcdef.json", "snapshots/snap_0123456789abcdef.json"} {
		check(t, os.WriteFile(filepath.Join(s.dir, record), []byte("{"), 0o600))
	}
	s.up()
	s.create().alive()
	w.after("a start with damaged records")
	w.end()
}

// unmasked is the server under a shell that takes its umask away.
func unmasked(t *testing.T) func() (string, error) {
	return func() (string, error) {
		path, err := binary()
		if err != nil {
			return "", err
		}
		script := filepath.Join(t.TempDir(), "server")
		return script, os.WriteFile(script, []byte("#!/bin/sh\numask 0\nexec '"+path+"' \"$@\"\n"), 0o755)
	}
}

// modeWatch looks at all files again and again, to see those as well that are
// there for a moment only.
type modeWatch struct {
	t         *testing.T
	dir, temp string
	stop      chan struct{}
	done      sync.WaitGroup

	mu   sync.Mutex
	last string // what has been done before
	seen map[string]bool
}

func watchModes(t *testing.T, dir, temp string) *modeWatch {
	w := &modeWatch{t: t, dir: dir, temp: temp, stop: make(chan struct{}), seen: map[string]bool{}, last: "the start"}
	w.done.Go(func() {
		for {
			w.look()
			select {
			case <-w.stop:
				return
			case <-time.After(2 * time.Millisecond): // between two looks
			}
		}
	})
	t.Cleanup(w.end)
	return w
}

func (w *modeWatch) end() {
	w.mu.Lock()
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.mu.Unlock()
	w.done.Wait()
}

func (w *modeWatch) after(what string) {
	w.look()
	entries, _ := os.ReadDir(w.temp)
	for _, e := range entries {
		w.report("outside the data directory there is " + e.Name())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = what
}

func (w *modeWatch) look() {
	_ = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // has just gone
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		want := fs.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			w.report(fmt.Sprintf("%s is %v", strings.TrimPrefix(path, w.dir), info.Mode()))
		}
		return nil
	})
}

// report says a thing once.
func (w *modeWatch) report(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen[what] {
		w.seen[what] = true
		w.t.Errorf("after %s: %s", w.last, what)
	}
}
