//go:build linux

package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// G8: what is mostly nothing takes next to no room after it was extracted, and
// has the same bytes, wherever its data lies.
func TestG8HolesStayHoles(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	const size = 8<<20 + 123
	for name, at := range map[string][]int64{
		"nothing": nil, "start": {0}, "end": {size - 1}, "odd": {4095, 4097, 1<<20 + 17}, "page": {1 << 20},
	} {
		f, err := os.Create(filepath.Join(from, name))
		must(t, err)
		must(t, f.Truncate(size))
		for _, offset := range at {
			_, err := f.WriteAt([]byte("x"), offset)
			must(t, err)
		}
		must(t, f.Close())
	}
	roundTrip(t, from, to)
	for _, name := range []string{"nothing", "start", "end", "odd", "page"} {
		want, err := os.ReadFile(filepath.Join(from, name))
		must(t, err)
		got, err := os.ReadFile(filepath.Join(to, name))
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs", name)
		}
		var st unix.Stat_t
		must(t, unix.Stat(filepath.Join(to, name), &st))
		if used := st.Blocks * 512; used > 1<<20 {
			t.Errorf("%s takes %d bytes of disk", name, used)
		}
	}
}
