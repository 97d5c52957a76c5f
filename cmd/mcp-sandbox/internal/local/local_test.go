package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is generous: what fails would fail for ever.
const soon = 20 * time.Second

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// longDir is a directory whose path has no room for a socket. The fallbacks are
// directories of the test's own.
func longDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 25))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("/tmp", "local")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	t.Setenv("XDG_RUNTIME_DIR", short)
	return dir
}

// start serves a directory, with streams that say back what they are told.
func start(t *testing.T, dir string) *Server {
	t.Helper()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) })
	s := NewServer(Of("serve", "v1"), api, echo, slog.New(slog.DiscardHandler))
	done := make(chan struct{})
	go func() { s.Serve(l); close(done) }()
	t.Cleanup(func() { s.Close(); <-done; s.running.Wait() })
	return s
}

func echo(ctx context.Context, s *Stream) {
	defer context.AfterFunc(ctx, func() { _ = s.SetReadDeadline(time.Unix(1, 0)) })()
	_, _ = io.Copy(struct{ io.Writer }{s}, s)
}

func get(t *testing.T, dir, path string) (string, About) {
	t.Helper()
	c := Client(dir)
	defer c.CloseIdleConnections()
	resp, err := c.Get(BaseURL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	about, _ := From(resp.Header)
	return string(body), about
}

func TestRequestsAndStreams(t *testing.T) {
	for name, dir := range map[string]string{"in the data directory": t.TempDir(), "elsewhere": longDir(t)} {
		t.Run(name, func(t *testing.T) {
			start(t, dir)
			want := About{os.Getpid(), "serve", "v1"}
			if body, about := get(t, dir, "/v1/x"); body != "/v1/x" || about != want {
				t.Errorf("got %q of %+v", body, about)
			}
			s, err := Connect(within(t, soon), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.About != want {
				t.Errorf("it is %+v", s.About)
			}
			big := strings.Repeat("0123456789", 100_000)
			go func() {
				io.WriteString(s, big)
				s.CloseWrite()
			}()
			if back, err := io.ReadAll(s); string(back) != big || err != nil {
				t.Errorf("%d bytes came back, %v", len(back), err)
			}
		})
	}
}

// Nobody else may open it, wherever it is and whatever the umask.
func TestPrivate(t *testing.T) {
	for name, dir := range map[string]string{"in the data directory": t.TempDir(), "elsewhere": longDir(t)} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(home(dir), 0o777); err != nil {
				t.Fatal(err)
			}
			start(t, dir)
			path, err := find(dir)
			if err != nil {
				t.Fatal(err)
			}
			for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, home(dir): 0o700} {
				if i, err := os.Stat(p); err != nil || i.Mode().Perm() != want {
					t.Errorf("%s: %v, %v", p, i.Mode(), err)
				}
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	empty, long := t.TempDir(), longDir(t)
	stale := t.TempDir()
	l, err := Listen(stale)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	for _, dir := range []string{empty, long, stale, filepath.Join(empty, "none")} {
		if _, err := Connect(within(t, soon), dir); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := Client(dir).Get(BaseURL); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// What a killed server left is replaced, and nothing stays of one that ended.
func TestLeftovers(t *testing.T) {
	for name, dir := range map[string]string{"in the data directory": t.TempDir(), "elsewhere": longDir(t)} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				l, err := Listen(dir)
				if err != nil {
					t.Fatal(err)
				}
				if stray, ok := l.(*strayListener); ok {
					l = stray.Listener
				}
				l.(*net.UnixListener).SetUnlinkOnClose(false)
				l.Close()
			}
			l, err := Listen(dir)
			if err != nil {
				t.Fatal(err)
			}
			go l.Accept()
			c, err := Dial(within(t, soon), dir)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			l.Close()
			l.Close()
			left, err := os.ReadDir(home(dir))
			if err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
			if left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "mcp-sandbox-*")); name == "elsewhere" && len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// A server may be killed as it makes its socket.
func TestCutOff(t *testing.T) {
	dir, private := longDir(t), filepath.Join(t.TempDir(), strayPrefix+"x")
	err := errors.Join(
		makeHome(dir), writeNote(dir, filepath.Join(private, socketName)), os.Mkdir(private, 0o700),
		os.WriteFile(filepath.Join(home(dir), noteName+draftSuffix), nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	start(t, dir)
	get(t, dir, "/")
	if _, err := os.Lstat(private); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the socket that was is left: %v", err)
	}
	if left, err := os.ReadDir(home(dir)); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A note may outlive its directory, in whose place anybody can make another.
func TestDirectoryOfSomebodyElse(t *testing.T) {
	dir, open := longDir(t), t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(makeHome(dir), writeNote(dir, filepath.Join(open, socketName))); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(within(t, soon), dir); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
	start(t, dir)
	get(t, dir, "/")
}

func TestLeave(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	stream, err := Connect(within(t, soon), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := s.Leave(within(t, soon)); err != nil {
		t.Error(err)
	}
	if n, err := stream.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := Dial(within(t, soon), dir); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}

func TestTooMany(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	var all []*Stream
	for range maxStreams {
		c, err := Connect(within(t, soon), dir)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if _, err := Connect(within(t, soon), dir); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("one more stream: %v", err)
	}
	get(t, dir, "/") // requests have room of their own
	for _, c := range all {
		c.Close()
	}
	s.running.Wait()
	c, err := Connect(within(t, soon), dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()

	var idle []net.Conn
	for range maxConnections + 20 {
		c, err := Dial(within(t, soon), dir)
		if err != nil {
			break // as the server may have dropped it already
		}
		idle = append(idle, c)
	}
	dropped := map[net.Conn]bool{}
	for deadline := time.Now().Add(soon); len(idle)-len(dropped) > maxConnections; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d connections were dropped", len(dropped), len(idle))
		}
		for _, c := range idle {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				dropped[c] = true
			}
		}
	}
	for _, c := range idle {
		c.Close()
	}
}

// A server that hangs is found out by who has little time.
func TestServerThatHangs(t *testing.T) {
	dir := t.TempDir()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Connect(within(t, 50*time.Millisecond), dir); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}

func TestStreamRouteWithoutUpgrade(t *testing.T) {
	dir := t.TempDir()
	start(t, dir)
	if body, _ := get(t, dir, streamPath); !strings.Contains(body, "upgrade") {
		t.Errorf("got %q", body)
	}
}
