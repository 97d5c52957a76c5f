//go:build unix

package manager

import (
	"log/slog"
	"os"
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
