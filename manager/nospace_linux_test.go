package manager_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// L7: a full data directory refuses what it cannot record, keeps what it has,
// and keeps nobody from destroying.
func TestL7DataDirIsFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=700"); err != nil {
		skip.OrFail(t, "cannot mount a small file system here: "+err.Error())
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	s := start(t, func(c *manager.Config) { c.DataDir = dir })
	kept, other := s.create(), s.create().ID
	filler := filepath.Join(dir, "filler")
	fill(t, filler)

	_, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{})
	if e := wantKind(t, err, manager.KindNoSpace); !e.Retryable || e.Hint == "" {
		t.Errorf("error says too little: %+v", e)
	}
	if n := len(s.fake.Containers()); n != 2 {
		t.Errorf("%d containers", n)
	}
	wantKind(t, s.renew(kept.ID, 5), manager.KindNoSpace)
	if got, err := s.Get(t.Context(), owner, kept.ID); err != nil || !got.ExpiresAt.Equal(kept.ExpiresAt) {
		t.Errorf("after a renewal that failed: %+v, %v", got, err)
	}
	s.mustSh(kept.ID, "true")
	if err := s.Destroy(t.Context(), owner, other); err != nil {
		t.Errorf("destroy: %v", err)
	}
	if n := len(s.fake.Containers()); n != 1 { // what is not on disk must not be lost by a crash
		t.Errorf("a destroy that could not be recorded returned with %d containers left", n)
	}

	s.Close()
	os.Remove(filler)
	s = restart(t, s)
	s.mustSh(kept.ID, "true")
	s.create()
}

func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
}
