package e2e

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestHTTPOwners: keys, and what one owner sees of another.
func TestHTTPOwners(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST)
	alone(t, s, []testCase[*server]{
		{"O1 O2 another's sandbox", anothersSandbox},
		{"O3 another's snapshot", anothersSnapshot},
		{"O4 every route needs a key", needsKey},
		{"M1 K3 no say in the container", noSay},
	})
	t.Run("M1 no keys, no server", noKeysNoServer)
	t.Run("O4 keys are changed while it runs", keysChange)
}

// as is the same server with another key.
func (s *server) as(key string) *server {
	p := *s.program
	p.Client = s.As(key)
	return &server{&p, s.t}
}

// anyID hides what may differ between two answers.
var anyID = regexp.MustCompile(`(sb|snap)_[0-9a-f]{16}|[0-9a-f-]{36}`)

// unseen: Bob is told the same of Alice's ID as of one that never was, by every
// call there is.
func unseen(s *server, calls [][3]string, alices, never string) {
	s.t.Helper()
	bob := s.as(bobKey)
	for _, c := range calls {
		var seen []string
		for _, id := range []string{alices, never} {
			r := bob.do(c[0], strings.ReplaceAll(c[1], "ID", id), strings.NewReader(strings.ReplaceAll(c[2], "ID", id)))
			r.is(s.t, strings.Join(c[:], " "), 404, schemas.CodeNotFound)
			r.header.Del("Date")
			r.header.Del("X-Request-Id")
			header, _ := json.Marshal(r.header)
			seen = append(seen, anyID.ReplaceAllString(r.body, "ID")+string(header))
		}
		if seen[0] != seen[1] {
			s.t.Errorf("%v: %s\nand, of what never was, %s", c, seen[0], seen[1])
		}
	}
}

func anothersSandbox(s *server) {
	b := s.create()
	b.must("echo hers > f")
	snap := b.snapshot("hers")
	bobs := s.as(bobKey).create()
	own := bobs.snapshot("his")
	at := "/v1/sandboxes/ID"
	unseen(s, [][3]string{
		{"GET", at, ""}, {"POST", at + "/timeout", `{"timeout_seconds":60}`},
		{"POST", at + "/exec", `{"command":"rm f"}`}, {"POST", at + "/exec/stream", `{"command":"rm f"}`},
		{"GET", at + "/files?path=f", ""}, {"PUT", at + "/files?path=f", "his"}, {"DELETE", at + "/files?path=f", ""},
		{"GET", at + "/files/list", ""}, {"POST", at + "/files/mkdir", `{"path":"d"}`}, {"POST", at + "/files/move", `{"from":"f","to":"g"}`},
		{"GET", at + "/archive", ""}, {"PUT", at + "/archive", ""},
		{"POST", at + "/snapshots", ""}, {"POST", at + "/rollback", `{"snapshot_id":"` + string(own.ID) + `"}`},
		{"POST", at + "/fork", ""}, {"DELETE", at, ""},
	}, string(b.ID), "sb_0123456789abcdef")
	if list := s.as(bobKey).list(); len(list) != 1 || list[0].ID != bobs.ID {
		s.t.Errorf("Bob's list is %+v", list)
	}
	for _, door := range []client.Door{client.Streamable, client.SSE} {
		bob, err := s.Dial(ctx(s.t), door, bobKey)
		if err != nil {
			s.t.Fatal(err)
		}
		for tool, a := range map[string]args{
			"exec": {"command": "rm f"}, "read_file": {"path": "f"}, "write_file": {"path": "f", "content": "his"}, "edit_file": {"path": "f", "old_text": "hers", "new_text": "his"},
			"list_files": {}, "snapshot": {}, "fork": {}, "rollback": {"snapshot_id": own.ID}, "sandbox_set_timeout": {"timeout_seconds": 60}, "sandbox_destroy": {},
		} {
			if err := bob.Call(ctx(s.t), tool, a.with(args{"sandbox_id": b.ID}), nil); client.Code(err) != string(schemas.CodeNotFound) {
				s.t.Errorf("%s, %s: %v", door, tool, err)
			}
		}
		bob.MCP.Close()
	}
	if out := b.must("cat f; ls"); out != "hers\nf\n" {
		s.t.Errorf("afterwards: %q", out)
	}
	if now := s.get(b.ID); !now.ExpiresAt.Equal(b.ExpiresAt) {
		s.t.Errorf("it expires at %v", now.ExpiresAt)
	}
	if all := s.snapshots(); len(all) != 1 || all[0].ID != snap.ID {
		s.t.Errorf("her snapshots: %+v", all)
	}
	s.as(bobKey).empty()
}

func anothersSnapshot(s *server) {
	b := s.create()
	b.must("echo hers > f")
	snap := b.snapshot("hers")
	bobs := s.as(bobKey).create()
	for _, gone := range []bool{false, true} {
		if gone {
			check(s.t, s.destroy(b.ID))
		}
		at := "/v1/snapshots/ID"
		unseen(s, [][3]string{
			{"GET", at, ""}, {"GET", at + "/archive", ""}, {"POST", at + "/fork", ""}, {"POST", at + "/fork", `{"count":2}`}, {"DELETE", at, ""},
			{"POST", bobs.at("/rollback"), `{"snapshot_id":"ID"}`},
		}, string(snap.ID), "snap_0123456789abcdef")
		for _, path := range []string{"/v1/snapshots", "/v1/snapshots?sandbox_id=" + string(b.ID)} {
			if r := s.as(bobKey).do("GET", path, nil); r.status != 200 || strings.Contains(r.body, string(snap.ID)) {
				s.t.Errorf("%s shows Bob %s", path, r.body)
			}
		}
	}
	if out := s.fork(snap.ID).must("cat f"); out != "hers\n" {
		s.t.Errorf("her fork has %q", out)
	}
	s.as(bobKey).empty()
}

func needsKey(s *server) {
	var document struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(s.do("GET", "/v1/openapi.json", nil).body), &document); err != nil {
		s.t.Fatal(err)
	}
	routes := [][2]string{{"POST", "/mcp"}, {"GET", "/mcp"}, {"DELETE", "/mcp"}, {"GET", "/sse"}, {"POST", "/message?sessionId=x"}, {"GET", "/v1/none"}, {"GET", "/none"}}
	for path, methods := range document.Paths {
		for method := range methods {
			if path != "/healthz" && path != "/livez" {
				routes = append(routes, [2]string{strings.ToUpper(method), strings.ReplaceAll(path, "{id}", "sb_0123456789abcdef")})
			}
		}
	}
	if len(routes) < 30 {
		s.t.Fatalf("there are only the routes %v", routes)
	}
	bodies := map[string]bool{}
	for _, r := range routes {
		for _, header := range []string{"", "Authorization: ", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: Basic " + aliceKey,
			"Authorization: " + aliceKey, "Authorization: Bearer " + aliceKey[:len(aliceKey)-1], "Authorization: Bearer " + aliceKey + "x",
			"Authorization: Bearer " + strings.ToUpper(aliceKey), "X-API-Key: ", "X-API-Key: alice", "X-API-Key: alice:" + aliceKey} {
			name, value, _ := strings.Cut(header, ": ")
			path := r[1] + map[bool]string{true: "&", false: "?"}[strings.Contains(r[1], "?")] + "api_key=" + aliceKey
			headers := []string{"Authorization", ""}
			if name != "" {
				headers = append(headers, name, value)
			}
			got := s.do(r[0], path, nil, headers...)
			if got.status != 401 || got.header.Get("WWW-Authenticate") == "" {
				s.t.Errorf("%s %s with %q: %d %s", r[0], r[1], header, got.status, got.body)
			}
			bodies[got.body] = true
		}
	}
	if len(bodies) > 2 { // one, and one for no key at all
		s.t.Errorf("the refusals differ: %v", bodies)
	}
	for _, path := range []string{"/healthz", "/livez"} {
		if got := s.do("GET", path, nil, "Authorization", ""); got.status != 200 {
			s.t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, h := range []string{"Authorization", "X-API-Key"} {
		if got := s.do("GET", "/v1/sandboxes", nil, "Authorization", "", h, map[string]string{"Authorization": "bearer ", "X-API-Key": ""}[h]+aliceKey); got.status != 200 {
			s.t.Errorf("%s: %d %s", h, got.status, got.body)
		}
	}
}

// noKeysNoServer: it starts without keys only when told to, and on loopback only.
func noKeysNoServer(t *testing.T) {
	s := quiet(t)
	o := s.launch()
	o.Door = client.REST
	plain := o.Args
	for _, more := range [][]string{{}, {"--insecure-no-auth", "--host=0.0.0.0"}, {"--api-keys=short"}, {"--api-keys-file=/none"}} {
		o.Args = append(plain[:len(plain):len(plain)], more...)
		p, err := client.Launch(o)
		if err != nil {
			t.Fatal(err)
		}
		code, err := p.ExitCode(5 * time.Second)
		if said := p.Log(); code == 0 || err != nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, "AGENT_SANDBOX_") && !strings.Contains(said, "--") {
			t.Errorf("%v: exit code %d, %v, %q", more, code, err, said)
			p.Kill()
		}
	}
}

// keysChange: a key is replaced without a restart, and without harm to what runs.
func keysChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		t.Helper()
		check(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("# ours\nalice:" + aliceKey + "\nbob:" + bobKey + "\n")
	s := launch(t, program{door: client.REST}, "--api-keys-file="+file)
	b := s.create()
	const newKey = "bob-new-key-0123456789"
	stream := b.open(ctx(t), args{"command": "echo begun; until [ -e go ]; do sleep 0.05; done; echo done"})
	defer stream.Body.Close()
	write("alice:" + aliceKey + "\nbob:" + newKey + "\n")
	s.Signal(syscall.SIGHUP)
	eventually(t, 5*time.Second, "the new key works", func() (bool, any) {
		r := s.as(newKey).do("GET", "/v1/sandboxes", nil)
		return r.status == 200, r.status
	})
	s.as(bobKey).do("GET", "/v1/sandboxes", nil).is(t, "the old key", 401, schemas.CodeUnauthorized)
	write("alice:short\n")
	s.Signal(syscall.SIGHUP)
	eventually(t, 5*time.Second, "the log says what is wrong", func() (bool, any) {
		return strings.Contains(s.Log(), "those from before stay"), tail(s.Log())
	})
	if r := s.as(newKey).do("GET", "/v1/sandboxes", nil); r.status != 200 {
		t.Errorf("after a bad file: %d", r.status)
	}
	b.must("touch go")
	if text, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(text), `"done\n"`) || !strings.Contains(string(text), `"exit"`) {
		t.Errorf("the stream: %q, %v", text, err)
	}
	if strings.Contains(s.Log(), newKey) {
		t.Error("the log has a key")
	}
}
