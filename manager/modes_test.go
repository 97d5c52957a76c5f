//go:build unix

package manager_test

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// What a copy, a restore or a hand has opened to others, or shut to the server,
// is put right at the start, and the log says so.
func TestModesArePutRight(t *testing.T) {
	for _, mode := range []os.FileMode{0, 0o400, 0o644, 0o666, 0o777} {
		var log strings.Builder
		s := start(t, func(c *manager.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		id := s.create().ID
		snap, bad := s.snap(id), s.snap(id)
		s.Close()
		if err := os.Truncate(filepath.Join(s.snapDir(), string(bad.ID)+".json"), 0); err != nil {
			t.Fatal(err)
		}
		var changed []string
		walk := func(act func(path string, info fs.FileInfo)) {
			t.Helper()
			err := filepath.WalkDir(s.cfg.DataDir, func(path string, e fs.DirEntry, err error) error {
				if err == nil {
					info, _ := e.Info()
					act(path, info)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		walk(func(path string, _ fs.FileInfo) { changed = append(changed, path) })
		for i := len(changed) - 1; i >= 0; i-- { // what is inside first
			mode := mode
			if path := changed[i]; path == s.cfg.DataDir {
				mode &^= 0o022 // or it would be refused
			}
			if err := os.Chmod(changed[i], mode); err != nil {
				t.Fatal(err)
			}
		}
		if os.Getuid() != 0 && mode&0o100 == 0 {
			os.Chmod(s.cfg.DataDir, 0o700) // nobody gets at what is inside, to put it right
		}
		s = restart(t, s)
		s.mustSh(id, "true")
		s.mustFork(snap.ID)
		s.Close()
		walk(func(path string, info fs.FileInfo) {
			want := fs.FileMode(0o600)
			if info.IsDir() {
				want = 0o700
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%o: %s is %v", mode, path, got)
			}
		})
		for _, path := range changed[1:] {
			if !strings.Contains(log.String(), path) {
				t.Errorf("%o: the log does not name %s", mode, path)
			}
		}
	}
}
