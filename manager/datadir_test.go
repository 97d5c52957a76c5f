//go:build unix

package manager

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever may write to the data directory may swap records. A directory that
// everybody may write to is refused, and left as it is, for it may be theirs.
func TestDataDirOthersMayWriteTo(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o777, 0o702} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := InstanceID(dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("mode %o: got %v", mode, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != mode {
			t.Errorf("mode %o: is now %v, %v", mode, info.Mode(), err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := InstanceID(dir, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

// What a write has left that was cut off goes with the next start, and nothing
// else does.
func TestI7DraftsInDataDir(t *testing.T) {
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	if _, err := InstanceID(dir, log); err != nil {
		t.Fatal(err)
	}
	stays := map[string]bool{".lock.pid1": false, ".mcp-sandbox.id99": false, ".lock.pid": true, "lock.pid1": true, ".nfs1": true}
	for name := range stays {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, _, err := takeDataDir(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for name, want := range stays {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s stays: %t, %v", name, want, err)
		}
	}
}
