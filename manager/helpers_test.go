package manager_test

import (
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const owner = manager.DefaultOwner

// testConfig has the defaults of a server, a data directory of its own, and a
// clock that goes as time does in the test.
func testConfig(t testing.TB) manager.Config {
	return manager.Config{
		DataDir: t.TempDir(), AllowedImages: []string{"*"}, AllowNetwork: true, MaxSandboxes: 20,
		DefaultTimeoutSeconds: 900, MaxTimeoutSeconds: 86400,
		DefaultCPUs: 1, MaxCPUs: 4, DefaultMemoryMB: 512, MaxMemoryMB: 4096,
		DefaultPidsLimit: 256, MaxPidsLimit: 4096,
		DefaultExecTimeoutSeconds: 60, MaxExecTimeoutSeconds: 3600,
		MaxExecOutputBytes: 1 << 20, MaxFileBytes: 1 << 20, MaxSnapshotBytes: 8 << 20,
		ReapInterval: 10 * time.Second, Log: slog.New(slog.DiscardHandler), Clock: newClock().now,
	}
}

// server is a manager on a fake, as a test sees it.
type server struct {
	*manager.Manager
	t    testing.TB
	fake *backendtest.Fake
	cfg  manager.Config

	clock *testClock // of start
}

// start makes a server that ends with the test. edit may change its settings.
func start(t testing.TB, edit ...func(*manager.Config)) *server {
	t.Helper()
	cfg, clock := testConfig(t), newClock()
	cfg.Clock = clock.now
	for _, e := range edit {
		e(&cfg)
	}
	return restart(t, &server{t: t, fake: backendtest.NewFake(t), cfg: cfg, clock: clock})
}

// restart is another server on the data directory and backend of one before; the
// backend may be wrapped.
func restart(t testing.TB, before *server, backend ...manager.Backend) *server {
	t.Helper()
	m, err := manager.New(before.cfg, append(backend, before.fake)[0])
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	m.Start()
	t.Cleanup(func() { m.Close() })
	return &server{Manager: m, t: t, fake: before.fake, cfg: before.cfg, clock: before.clock}
}

func (s *server) create(req ...schemas.CreateSandboxRequest) schemas.Sandbox {
	s.t.Helper()
	sandbox, err := s.Create(s.t.Context(), owner, append(req, schemas.CreateSandboxRequest{})[0])
	if err != nil {
		s.t.Fatalf("Create: %v", err)
	}
	return sandbox
}

func (s *server) sh(id schemas.SandboxID, line string) (schemas.ExecResult, error) {
	r, _, err := s.Exec(s.t.Context(), owner, id, schemas.ExecRequest{Command: schemas.Command{Shell: line}})
	return r, err
}

func (s *server) mustSh(id schemas.SandboxID, line string) string {
	s.t.Helper()
	r, err := s.sh(id, line)
	if err != nil || r.ExitCode != 0 {
		s.t.Fatalf("exec %q: %+v, %v", line, r, err)
	}
	return r.Stdout
}

// status asks afresh.
func (s *server) status(id schemas.SandboxID) schemas.Status {
	s.t.Helper()
	sandbox, err := s.Get(s.t.Context(), owner, id)
	if err != nil {
		s.t.Fatalf("Get: %v", err)
	}
	return sandbox.Status
}

// wantNothingLeft waits for the removals that go on behind a destroy.
func (s *server) wantNothingLeft() {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		c, v, condemned := s.fake.Containers(), s.fake.Volumes(), s.Stats().Condemned
		if len(c)+len(v)+condemned == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Errorf("left behind: containers %q, volumes %q; %d are condemned", c, v, condemned)
			return
		}
	}
}

// eventually polls until ok, for at most some seconds of (maybe fake) time.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

func wantKind(t testing.TB, err error, kind manager.Kind) *manager.Error {
	t.Helper()
	var e *manager.Error
	if !errors.As(err, &e) || manager.KindOf(err) != kind {
		t.Fatalf("error is %v; want %s", err, kind.Code())
	}
	return e
}

// wantInvalid also wants the message to name what it is about.
func wantInvalid(t testing.TB, err error, about string) {
	t.Helper()
	if e := wantKind(t, err, manager.KindInvalid); !strings.Contains(e.Message, about) {
		t.Errorf("message is %q; want it to name %q", e.Message, about)
	}
}

func ptr[T any](v T) *T { return &v }

var nan = math.NaN()

// containerOf is the name of the container of a sandbox never rolled back.
func containerOf(id schemas.SandboxID) string { return "agent-sandbox-" + string(id) + "-1" }
