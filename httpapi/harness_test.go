package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	aliceKey = "alice-key-0123456789"
	bobKey   = "bob-key-0123456789abc"
)

// door is a server on a fake backend, as a test sees it. Calls are Alice's
// unless said otherwise.
type door struct {
	t       testing.TB
	url     string
	fake    *backendtest.Fake
	manager *manager.Manager
	client  *http.Client
	log     *logText
}

// setup is what a test may change before the start.
type setup struct {
	Config
	limits manager.Config
	times  times
	core   func(*manager.Manager) core // instead of the manager
}

func start(t testing.TB, edit ...func(*setup)) *door {
	t.Helper()
	keys, err := NewKeys("alice:"+aliceKey+",bob:"+bobKey, "")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, fake: backendtest.NewFake(t), log: &logText{}}
	s := setup{limits: testLimits(t), times: standardTimes}
	s.Config = Config{Version: "test", Keys: keys, ListenHost: "127.0.0.1", Log: slog.New(slog.NewJSONHandler(d.log, nil))}
	for _, e := range edit {
		e(&s)
	}
	if d.manager, err = manager.New(s.limits, d.fake); err != nil {
		t.Fatal(err)
	}
	d.manager.Start()
	t.Cleanup(func() { d.manager.Close() })
	var m core = d.manager
	if s.core != nil {
		m = s.core(d.manager)
	}
	srv := httptest.NewServer(newServer(s.Config, m, s.times))
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	d.url, d.client = srv.URL, srv.Client()
	d.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	d.client.Transport = checked(t, d.client.Transport)
	return d
}

func testLimits(t testing.TB) manager.Config {
	return manager.Config{
		DataDir: t.TempDir(), AllowedImages: []string{"*"}, AllowNetwork: true, MaxSandboxes: 20,
		DefaultTimeoutSeconds: 900, MaxTimeoutSeconds: 86400,
		DefaultCPUs: 1, MaxCPUs: 4, DefaultMemoryMB: 512, MaxMemoryMB: 4096,
		DefaultPidsLimit: 256, MaxPidsLimit: 4096,
		DefaultExecTimeoutSeconds: 60, MaxExecTimeoutSeconds: 3600,
		MaxExecOutputBytes: 1 << 20, MaxFileBytes: 1 << 20, MaxSnapshotBytes: 8 << 20,
		ReapInterval: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // of reading the body
}

// request makes one of Alice's. body is bytes, a reader, or something to encode.
func (d *door) request(method, path string, body any) *http.Request {
	d.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case io.Reader:
		r = b
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			d.t.Fatal(err)
		}
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, r)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+aliceKey)
	return req
}

func (d *door) send(req *http.Request) reply {
	d.t.Helper()
	resp, err := d.client.Do(req)
	if err != nil {
		d.t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, b, err}
}

func (d *door) do(method, path string, body any) reply {
	d.t.Helper()
	return d.send(d.request(method, path, body))
}

// as makes a call with headers of its own, in pairs; an empty value removes one.
func (d *door) as(method, path string, body any, headers ...string) reply {
	d.t.Helper()
	req := d.request(method, path, body)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		} else if req.Header.Del(headers[i]); headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return d.send(req)
}

// get decodes the answer of a call that must succeed with this status.
func get[T any](d *door, status int, method, path string, body any) (v T) {
	d.t.Helper()
	r := d.do(method, path, body)
	if r.status != status {
		d.t.Fatalf("%s %s: %d %s; want %d", method, path, r.status, r.body, status)
	}
	if err := json.Unmarshal(r.body, &v); err != nil {
		d.t.Fatalf("%s %s: %v in %s", method, path, err, r.body)
	}
	return v
}

func (d *door) create() string {
	d.t.Helper()
	return "/v1/sandboxes/" + string(get[schemas.Sandbox](d, 201, "POST", "/v1/sandboxes", nil).ID)
}

func (d *door) sh(sandbox, line string) schemas.ExecResult {
	d.t.Helper()
	return get[schemas.ExecResult](d, 200, "POST", sandbox+"/exec", map[string]any{"command": line})
}

// fails wants an error of our shape.
func (r reply) fails(t testing.TB, status int, code schemas.Code, about ...string) schemas.Error {
	t.Helper()
	var b schemas.ErrorBody
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil || r.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %q is not an error of ours: %v", r.status, r.body, err)
	}
	if r.status != status || b.Error.Code != code || b.Error.Message == "" || b.Error.Hint == "" {
		t.Fatalf("%d %s; want %d %s", r.status, r.body, status, code)
	}
	for _, a := range about {
		if !strings.Contains(b.Error.Message, a) {
			t.Errorf("message is %q; want it to name %q", b.Error.Message, a)
		}
	}
	return b.Error
}

// logText is a log that can be read while it is written.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// containerOf is the name of the container of a sandbox never rolled back.
func containerOf(sandbox string) string {
	return "agent-sandbox-" + strings.TrimPrefix(sandbox, "/v1/sandboxes/") + "-1"
}
