//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What the poller refuses is an error at once: a wait that fails later would
// look like the end of a command's output, and closing the pipe would kill the
// command by SIGPIPE.
func TestPipeThatCannotBeWatched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(path, []byte("no pipe"), 0o600))
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	check(t, err)
	if p, err := newPipeEnd(fd); err == nil {
		p.close()
		t.Error("a regular file was taken for a pipe")
	} else if want := "watch descriptor: operation not permitted"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
