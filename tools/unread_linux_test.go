package tools

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What clients use for a server's standard output: pipes, and pairs of sockets.
func TestUnread(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for what, ends := range map[string][2]*os.File{
		"pipe": {r, w}, "socket": {os.NewFile(uintptr(pair[0]), "read"), os.NewFile(uintptr(pair[1]), "write")},
	} {
		defer ends[0].Close()
		defer ends[1].Close()
		unread := unreadOf(ends[1])
		if unread == nil {
			t.Fatalf("%s: not known", what)
		}
		if n := unread(); n != 0 {
			t.Errorf("%s: %d before anything is written", what, n)
		}
		for _, size := range []int{1, 20_000} {
			if _, err := ends[1].Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if n := unread(); n < size {
				t.Errorf("%s: %d of %d bytes", what, n, size)
			}
			if _, err := io.ReadFull(ends[0], make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if n := unread(); n != 0 {
				t.Errorf("%s: %d when all is read", what, n)
			}
		}
		ends[1].Close()
		if n := unread(); n != 0 {
			t.Errorf("%s: %d when it is closed", what, n)
		}
	}
}

func TestUnreadIsNotKnownOf(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	remote, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	for what, w := range map[string]io.Writer{"a file": file, "TCP": remote, "memory": io.Discard} {
		if unreadOf(w) != nil {
			t.Errorf("%s: known", what)
		}
	}
}
