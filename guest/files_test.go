//go:build linux

package guest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Package files tests what file calls do; here it is whether they arrive.

func (m *machine) write(c *client.Client, name string, content io.Reader) error {
	_, err := c.Write(m.t.Context(), protocol.WriteParams{Path: []byte(protocol.Workspace + "/" + name), MaxBytes: 100 << 20}, content)
	return err
}

func (m *machine) read(c *client.Client, name string) ([]byte, error) {
	_, content, err := c.Read(m.t.Context(), protocol.ReadParams{Path: []byte(protocol.Workspace + "/" + name), Length: -1})
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}

// D2, D9: bytes come back as they went, and nothing is left of a longer file.
func TestD2D9WriteAndRead(t *testing.T) {
	m, c := newGuest(t)
	for _, n := range []int{1 << 20, 10, 0, 5 << 20} {
		data := random(n)
		check(t, m.write(c, "deep/er/file", bytes.NewReader(data)))
		got, err := m.read(c, "deep/er/file")
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d of %d bytes came back: %v", len(got), n, err)
		}
	}
}

func TestFileCalls(t *testing.T) {
	m, c := newGuest(t)
	ctx := t.Context()
	path := func(s string) []byte { return []byte(protocol.Workspace + s) }
	_, err := c.Mkdir(ctx, protocol.MkdirParams{Path: path("/a/b")})
	check(t, err)
	check(t, m.write(c, "a/one", strings.NewReader("1")))
	_, err = c.Move(ctx, protocol.MoveParams{From: path("/a/one"), To: path("/a/two")})
	check(t, err)
	info, err := c.Stat(ctx, protocol.StatParams{Path: path("/a/two")})
	if err != nil || info.Size != 1 || info.Type != protocol.TypeFile || string(info.Name) != "two" {
		t.Errorf("got %+v, %v", info, err)
	}
	page, err := c.List(ctx, protocol.ListParams{Path: path("/a"), Limit: 1})
	if err != nil || len(page.Entries) != 1 || !page.More || string(page.Entries[0].Name) != "b" {
		t.Errorf("got %+v, %v", page, err)
	}
	check(t, c.Delete(ctx, protocol.DeleteParams{Path: path("/a"), Recursive: true}))
	if _, err := c.Stat(ctx, protocol.StatParams{Path: path("/a")}); !hasCode(err, protocol.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := m.read(c, "a/two"); !hasCode(err, protocol.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// Content whose source breaks off leaves the old file, and says what broke.
func TestBrokenUploadLeavesTheOldFile(t *testing.T) {
	m, c := newGuest(t)
	check(t, m.write(c, "f", strings.NewReader("old")))
	broken := errors.New("unplugged")
	if err := m.write(c, "f", io.MultiReader(bytes.NewReader(make([]byte, 300<<10)), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got, err := m.read(c, "f"); string(got) != "old" {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// Refused uploads end early, however much there is to come.
func TestTooLargeUpload(t *testing.T) {
	_, c := newGuest(t)
	_, err := c.Write(t.Context(), protocol.WriteParams{Path: []byte("/workspace/f"), MaxBytes: 1 << 20}, endless{})
	if !hasCode(err, protocol.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Commands that ignore their input fill their windows; uploads go on.
func TestIgnoredInputsDoNotStopUploads(t *testing.T) {
	m, c := newGuest(t)
	started := make(chan bool)
	for range maxExecs {
		go c.Exec(t.Context(), m.params(command{sh: "echo; sleep 60", stdin: endless{}}), endless{}, func(protocol.Stream, []byte) error {
			started <- true
			return nil
		})
	}
	for range maxExecs {
		<-started
	}
	time.Sleep(100 * time.Millisecond) // let them fill what they can
	check(t, m.write(c, "f", bytes.NewReader(make([]byte, 4<<20))))
}

// A slow reader of one file keeps nobody from others.
func TestSlowReadersDoNotHoldTheDisk(t *testing.T) {
	m, c := newGuest(t)
	check(t, m.write(c, "big", bytes.NewReader(make([]byte, 8<<20))))
	for range 2 * maxDiskCalls {
		_, content, err := c.Read(t.Context(), protocol.ReadParams{Path: []byte("/workspace/big"), Length: -1})
		check(t, err)
		defer content.Close()
	}
	check(t, m.write(c, "small", strings.NewReader("x")))
}

func TestPackAndUnpack(t *testing.T) {
	m, c := newGuest(t)
	m.sh(c, "mkdir -p src/sub; echo one > src/one; ln -s one src/link; echo two > src/sub/two")
	for _, compress := range []bool{false, true} {
		var tar bytes.Buffer
		packed, err := c.Pack(t.Context(), protocol.PackParams{Path: []byte("/workspace/src"), Zstd: compress, MaxBytes: 1 << 20}, &tar)
		check(t, err)
		unpacked, err := c.Unpack(t.Context(), protocol.UnpackParams{
			Path: []byte("/workspace/dst"), Zstd: compress, Replace: true, MaxBytes: 1 << 20, MaxFiles: 100,
		}, &tar)
		check(t, err)
		if packed.Files != 4 || unpacked.Files != packed.Files || packed.Bytes == 0 {
			t.Errorf("packed %+v, unpacked %+v", packed, unpacked)
		}
		m.sh(c, "diff -r src dst && readlink dst/link").expect(t, 0, "one\n", "")
	}
	_, err := c.Pack(t.Context(), protocol.PackParams{Path: []byte("/workspace/none")}, io.Discard)
	if !hasCode(err, protocol.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	_, err = c.Unpack(t.Context(), protocol.UnpackParams{Path: []byte("/workspace/dst"), MaxBytes: 1 << 20, MaxFiles: 9}, strings.NewReader("no tar"))
	if !hasCode(err, protocol.ErrBadArchive) {
		t.Errorf("got %v", err)
	}
}

// What may not be read is an error before the first byte, if that is asked for.
func TestPackChecksFirst(t *testing.T) {
	m, c := newGuest(t)
	if !m.isolated {
		skip.OrFail(t, "needs root, for files of somebody else's")
	}
	for _, name := range []string{"file", "dir"} {
		m.sh(c, "mkdir -p "+name+"; head -c 1000000 /dev/zero > "+name+"/a")
	}
	check(t, os.WriteFile(m.file("file/secret"), []byte("x"), 0o600))
	check(t, os.Mkdir(m.file("dir/secret"), 0o700))
	for _, name := range []string{"file", "dir"} {
		for _, first := range []bool{false, true} {
			var tar bytes.Buffer
			_, err := c.Pack(t.Context(), protocol.PackParams{Path: []byte(m.file(name)), MaxBytes: -1, Check: first}, &tar)
			if !hasCode(err, protocol.ErrPermission) || !strings.Contains(err.Error(), "secret") || first != (tar.Len() == 0) {
				t.Errorf("%s, check %v: %v after %d bytes", name, first, err, tar.Len())
			}
		}
	}
}

// While a tar is made everything stands still; afterwards all goes on, except
// what had been stopped before.
func TestPauseWhilePacking(t *testing.T) {
	m, c := newGuest(t)
	if !m.isolated {
		skip.OrFail(t, "needs a process namespace, which only root can make")
	}
	m.sh(c, "mkdir src; head -c 4000000 /dev/urandom > src/data")
	m.sh(c, "(setsid sh -c '"+tick+"' >/dev/null 2>&1 &); (setsid sh -c 'echo $$ > pid; kill -STOP $$; echo > resumed' >/dev/null 2>&1 &)")
	m.sh(c, `until [ -s pid ] && grep -q "^State:.T" /proc/$(cat pid)/status; do sleep 0.01; done`).expect(t, 0, "", "") // as it stops there is a window, see halt
	slow := &slowWriter{check: func() {
		if m.ticking("tick") {
			t.Error("a process runs while the tar is made")
		}
	}}
	late := make(chan outcome, 1)
	slow.once = func() { go func() { late <- m.sh(c, "echo late") }() }
	_, err := c.Pack(t.Context(), protocol.PackParams{Path: []byte("/workspace/src"), MaxBytes: 100 << 20, Pause: true}, slow)
	check(t, err)
	if !slow.checked {
		t.Error("nothing was checked")
	}
	(<-late).expect(t, 0, "late\n", "")
	if !m.ticking("tick") {
		t.Error("the paused process did not go on")
	}
	if _, err := os.Stat(m.file("resumed")); err == nil {
		t.Error("a process that had stopped itself was started")
	}
}

// slowWriter looks around in the middle of a tar.
type slowWriter struct {
	n       int
	check   func()
	once    func()
	checked bool
}

func (s *slowWriter) Write(p []byte) (int, error) {
	if s.n += len(p); s.n > 1<<20 && !s.checked {
		s.checked = true
		s.once()
		s.check()
	}
	return len(p), nil
}

// A pause ends when the caller goes away in the middle, and a timeout kills
// what is paused.
func TestPauseEndsWithTheCaller(t *testing.T) {
	m, c := newGuest(t)
	if !m.isolated {
		skip.OrFail(t, "needs a process namespace, which only root can make")
	}
	m.sh(c, "mkdir src; head -c 9000000 /dev/urandom > src/data; (setsid sh -c '"+tick+"' >/dev/null 2>&1 &)")
	done := make(chan outcome, 1)
	started := make(chan bool)
	go func() {
		var o outcome
		var err error
		o.ExecResult, err = c.Exec(t.Context(), m.params(command{sh: "echo; sleep 60", timeout: time.Second}), nil,
			func(protocol.Stream, []byte) error { close(started); return nil })
		check(t, err)
		done <- o
	}()
	<-started
	gone := errors.New("gone")
	_, err := c.Pack(t.Context(), protocol.PackParams{Path: []byte("/workspace/src"), MaxBytes: 100 << 20, Pause: true}, writerFunc(func(p []byte) (int, error) {
		if o := <-done; !o.TimedOut || o.Duration > 2*time.Second {
			t.Errorf("a paused command at its timeout: %+v", o.ExecResult)
		}
		return 0, gone
	}))
	if !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	eventually(t, 30*time.Second, "ticking", func() (any, bool) { on := m.ticking("tick"); return on, on })
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The guest ends itself at its deadline, and a newer one replaces an older.
func TestDeadline(t *testing.T) {
	m, c := newGuest(t)
	check(t, c.SetDeadline(t.Context(), 50*time.Millisecond))
	check(t, c.SetDeadline(t.Context(), time.Hour))
	time.Sleep(100 * time.Millisecond)
	_, err := c.Hello(t.Context())
	check(t, err)
	check(t, c.SetDeadline(t.Context(), 50*time.Millisecond))
	select {
	case <-m.exited:
		if code := m.cmd.ProcessState.ExitCode(); code != protocol.ExitDeadline {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(5 * time.Second):
		t.Error("the guest outlives its deadline")
	}
	if _, err := c.Hello(t.Context()); !errors.Is(err, client.ErrLost) {
		t.Errorf("got %v", err)
	}
	<-c.Done()
}
