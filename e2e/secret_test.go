package e2e

import (
	"bytes"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestEnvironmentIsSecret: the value of a variable is for commands alone. No door
// returns it, no error repeats it, no log has it, Docker does not know it; on disk
// it is in records only.
func TestEnvironmentIsSecret(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST, "--warm-pool=1")
	canary := "canary-" + hex.EncodeToString(randomBytes(8))
	heard := &listening{next: s.HTTP.Transport}
	s.HTTP.Transport = heard
	secret := args{"TOKEN": canary}

	b := s.create(args{"env": secret})
	b.must("test \"$TOKEN\" = "+canary[:6]+"'"+canary[6:]+"' && test $MORE", args{"env": args{"MORE": canary}})
	call[schemas.ExecResult](s, "exec", args{"sandbox_id": b.ID, "command": "sleep 60", "env": secret, "background": true})
	snap := b.snapshot("x")
	child := s.fork(snap.ID, args{"env": args{"OTHER": canary}})
	child.must("test \"$OTHER\"")
	b.rollback(snap.ID)
	b.loseContainer()
	b.must("test \"$TOKEN\"")
	for _, door := range []client.Door{client.Streamable, client.SSE} {
		c, err := s.Dial(ctx(t), door, aliceKey)
		check(t, err)
		sayAll(t, c, b.ID, canary)
	}
	sayAll(t, s.Client, b.ID, canary)
	for _, path := range []string{"/v1/sandboxes", "/v1/snapshots", b.at(""), b.at("/execs"), "/v1/snapshots/" + string(snap.ID), "/v1/snapshots/" + string(snap.ID) + "/archive", "/metrics", "/healthz", b.at("/archive?path=.")} {
		s.do(http.MethodGet, path, nil)
	}
	for _, body := range []string{
		`{"env":"` + canary + `"}`, `{"env":["A=` + canary + `"]}`, `{"env":{"A":{"B":"` + canary + `"}}}`, `{"env":{"A":["` + canary + `"]}}`,
		`{"env":{"A":"` + canary, `{"env":{"A":"` + canary + `"},"no_such_field":1}`, `{"env":{"A":"` + canary + `"} "x"}`, `{"env":{"A":"` + canary + `\u0000"}}`,
	} {
		s.do(http.MethodPost, "/v1/sandboxes", strings.NewReader(body))
		s.do(http.MethodPost, b.at("/exec"), strings.NewReader(strings.Replace(body, "{", `{"command":"true",`, 1)))
	}
	s.restart()
	s.HTTP.Transport = heard.on(s.HTTP.Transport)
	b.must("test \"$TOKEN\"")
	s.list()

	heard.without(t, "an answer", canary)
	if strings.Contains(s.Log(), canary) {
		t.Error("the log has it")
	}
	things := append(s.containers(), s.volumes()...)
	things = append(things, busybox, s.mustDocker("inspect", "-f", "{{.Image}}", b.onlyContainer()))
	for _, thing := range things {
		if text, _ := s.docker("inspect", thing); strings.Contains(text, canary) { // a spare may have gone meanwhile
			t.Errorf("docker inspect of %s shows it", thing)
		}
	}
	for _, name := range holding(t, s.dir, canary) {
		if ok, _ := filepath.Match("sandboxes/sb_*.json", name); !ok && !strings.HasPrefix(name, "snapshots/snap_") {
			t.Errorf("it is in %s", name)
		}
	}
}

// sayAll says the value where it does not belong, so that errors come.
func sayAll(t *testing.T, c *client.Client, id schemas.SandboxID, canary string) {
	t.Helper()
	for _, env := range []any{
		args{"A=B": canary}, args{"1": canary}, args{"": canary}, args{"A": canary + "\x00"}, args{"A": canary + strings.Repeat("x", 200_000)},
		canary, []string{"A=" + canary}, args{"A": args{"B": canary}}, args{"A": []string{canary}}, "{\"A\":\"" + canary + "\"", "A=" + canary,
	} {
		for tool, a := range map[string]args{
			"sandbox_create": {"timeout_seconds": -1},
			"exec":           {"sandbox_id": id, "command": "true", "timeout_seconds": -1},
			"fork":           {"sandbox_id": id, "count": 99},
		} {
			_ = c.Call(ctx(t), tool, a.with(args{"env": env}), nil)
			delete(a, "timeout_seconds")
			delete(a, "count")
			if tool == "exec" {
				_ = c.Call(ctx(t), tool, a.with(args{"env": env}), nil)
			}
		}
	}
	_ = c.Call(ctx(t), "sandbox_create", args{"env": args{"A": canary}, "image": "localhost:1/no/such"}, nil)
	_ = c.Call(ctx(t), "exec", args{"sandbox_id": id, "argv": []string{"/no/such"}, "env": args{"A": canary}}, nil)
	_ = c.Call(ctx(t), "exec", args{"sandbox_id": "sb_0123456789abcdef", "command": "true", "env": args{"A": canary}}, nil)
}

// holding are the files that hold a text.
func holding(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	}))
	return names
}

// listening keeps all that a server answers.
type listening struct {
	next http.RoundTripper
	mu   sync.Mutex
	said bytes.Buffer
}

// on goes on with another way to the server.
func (l *listening) on(next http.RoundTripper) *listening {
	l.next = next
	return l
}

func (l *listening) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, l), resp.Body}
	}
	return resp, err
}

func (l *listening) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.Write(p)
}

// without fails when they hold a text.
func (l *listening) without(t *testing.T, what, text string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said.Len() == 0 {
		t.Error("nothing was heard")
	}
	if i := bytes.Index(l.said.Bytes(), []byte(text)); i >= 0 {
		t.Errorf("%s has it: …%s", what, l.said.Bytes()[max(0, i-300):min(l.said.Len(), i+100)])
	}
}
