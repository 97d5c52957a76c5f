package httpapi

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// sample is a path of a route, with IDs that have the right shape.
func sample(r route) string {
	id := "sb_0123456789abcdef"
	if strings.HasPrefix(r.path, snapshot) {
		id = "snap_0123456789abcdef"
	}
	return strings.Replace(r.path, "{id}", id, 1)
}

func TestSandboxRoutes(t *testing.T) {
	d := start(t)
	made := get[schemas.Sandbox](d, 201, "POST", "/v1/sandboxes", `{"name":"n","env":{"A":"1"},"timeout_seconds":60.0,"image":null}`)
	at := "/v1/sandboxes/" + string(made.ID)
	if made.Name != "n" || made.Status != "running" {
		t.Errorf("made %+v", made)
	}
	if got := get[schemas.Sandbox](d, 200, "GET", at, nil); got.ID != made.ID {
		t.Errorf("got %+v", got)
	}
	d.create()
	first := get[schemas.SandboxList](d, 200, "GET", "/v1/sandboxes?limit=1", nil)
	if len(first.Sandboxes) != 1 || first.Sandboxes[0].ID != made.ID || first.NextCursor == "" {
		t.Fatalf("first page is %+v", first)
	}
	second := get[schemas.SandboxList](d, 200, "GET", "/v1/sandboxes?limit=1&cursor="+first.NextCursor, nil)
	if len(second.Sandboxes) != 1 || second.NextCursor != "" {
		t.Errorf("second page is %+v", second)
	}
	later := get[schemas.Sandbox](d, 200, "POST", at+"/timeout", `{"timeout_seconds":3600}`)
	if !later.ExpiresAt.After(made.ExpiresAt) {
		t.Errorf("expires at %v, was %v", later.ExpiresAt, made.ExpiresAt)
	}
	if r := d.do("DELETE", at, nil); r.status != 204 || len(r.body) != 0 {
		t.Errorf("DELETE: %d %s", r.status, r.body)
	}
	d.do("GET", at, nil).fails(t, 404, schemas.CodeNotFound)
	d.do("DELETE", at, nil).fails(t, 404, schemas.CodeNotFound)
}

func TestSnapshotRoutes(t *testing.T) {
	d := start(t)
	at := d.create()
	d.sh(at, "echo one > f")
	snap := get[schemas.Snapshot](d, 201, "POST", at+"/snapshots", nil)
	named := get[schemas.Snapshot](d, 201, "POST", at+"/snapshots", `{"name":"x","pause":false}`)
	d.sh(at, "echo two > f")
	get[schemas.Sandbox](d, 200, "POST", at+"/rollback", map[string]any{"snapshot_id": snap.ID})
	if got := d.sh(at, "cat f").Stdout; got != "one\n" {
		t.Errorf("after the rollback f is %q", got)
	}
	if list := get[schemas.SnapshotList](d, 200, "GET", "/v1/snapshots?sandbox_id="+strings.TrimPrefix(at, "/v1/sandboxes/"), nil); len(list.Snapshots) != 2 {
		t.Errorf("list is %+v", list)
	}
	if got := get[schemas.Snapshot](d, 200, "GET", "/v1/snapshots/"+string(named.ID), nil); got.Name != "x" {
		t.Errorf("got %+v", got)
	}
	if r := d.do("DELETE", "/v1/snapshots/"+string(named.ID), nil); r.status != 204 {
		t.Errorf("DELETE: %d", r.status)
	}
	d.do("GET", "/v1/snapshots/"+string(named.ID), nil).fails(t, 404, schemas.CodeNotFound)
}

// One fork is a sandbox; with count it is a list, also for one.
func TestForkRoutes(t *testing.T) {
	d := start(t, func(s *setup) { s.limits.MaxSandboxes = 6 })
	at := d.create()
	d.sh(at, "echo x > f")
	snap := get[schemas.Snapshot](d, 201, "POST", at+"/snapshots", nil)
	for _, from := range []string{at, "/v1/snapshots/" + string(snap.ID)} {
		one := get[schemas.Sandbox](d, 201, "POST", from+"/fork", nil)
		if got := d.sh("/v1/sandboxes/"+string(one.ID), "cat f").Stdout; got != "x\n" {
			t.Errorf("f is %q", got)
		}
		if list := get[schemas.ForkResult](d, 201, "POST", from+"/fork", `{"count":1,"name":"k"}`); len(list.Sandboxes) != 1 || list.Errors == nil {
			t.Errorf("list is %+v", list)
		}
	}
	some := get[schemas.ForkResult](d, 201, "POST", at+"/fork", `{"count":3}`)
	if len(some.Sandboxes) != 1 || len(some.Errors) != 2 || some.Errors[0].Code != schemas.CodeLimitExceeded {
		t.Errorf("some is %+v", some)
	}
	d.do("POST", at+"/fork", `{"count":3}`).fails(t, 429, schemas.CodeLimitExceeded)
	d.do("POST", at+"/fork", `{"count":21}`).fails(t, 400, schemas.CodeInvalidRequest, "count")
}

func TestServerRoutes(t *testing.T) {
	d := start(t, func(s *setup) {
		s.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			w.Write([]byte("up 1\n"))
		})
		s.Extra = map[string]http.Handler{"/mcp": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o, ok := OwnerFrom(r.Context())
			if _, flushes := w.(http.Flusher); !ok || !flushes {
				t.Error("no owner, or no flusher")
			}
			w.Write([]byte(o))
		})}
	})
	if h := get[schemas.Health](d, 200, "GET", "/healthz", nil); h.Status != "ok" || h.Version != "test" {
		t.Errorf("health is %+v", h)
	}
	get[schemas.Live](d, 200, "GET", "/livez", nil)
	if r := d.do("GET", "/v1/openapi.json", nil); r.status != 200 || string(r.body) != string(OpenAPI()) {
		t.Errorf("document: %d", r.status)
	}
	if r := d.do("GET", "/metrics", nil); string(r.body) != "up 1\n" {
		t.Errorf("metrics: %d %s", r.status, r.body)
	}
	if r := d.do("POST", "/mcp", "x"); string(r.body) != "alice" {
		t.Errorf("another's handler: %d %s", r.status, r.body)
	}
	d.as("POST", "/mcp", "x", "Authorization", "").fails(t, 401, schemas.CodeUnauthorized)
}

func TestHealthOfBackend(t *testing.T) {
	d := start(t)
	d.fake.GoDown()
	down := start(t, func(s *setup) { s.Health = d.manager.Health })
	r := down.as("GET", "/healthz", nil, "Authorization", "")
	if r.status != 503 || !strings.Contains(string(r.body), `"unavailable"`) || !strings.Contains(string(r.body), `"backend_unavailable"`) {
		t.Errorf("health: %d %s", r.status, r.body)
	}
	if r := down.as("GET", "/livez", nil, "Authorization", ""); r.status != 200 {
		t.Errorf("livez: %d", r.status)
	}
}

// HEAD is GET without a body, OPTIONS names the methods, others are 405.
func TestMethods(t *testing.T) {
	d := start(t)
	at := d.create()
	get[schemas.FileInfo](d, 200, "PUT", at+"/files?path=f", "abc")
	snap := get[schemas.Snapshot](d, 201, "POST", at+"/snapshots", nil)
	real := func(r route) string {
		p := strings.Replace(r.path, sandbox, at, 1)
		p = strings.Replace(p, "/execs/{exec_id}", someExec, 1)
		p = strings.Replace(p, snapshot, "/v1/snapshots/"+string(snap.ID), 1)
		if strings.HasSuffix(p, "/files") {
			p += "?path=f"
		}
		return p
	}
	for _, r := range routes {
		if r.path == "/metrics" {
			continue
		}
		got := d.do("OPTIONS", real(r), nil)
		if got.status != 204 || !strings.Contains(got.header.Get("Allow"), r.method) || !strings.Contains(got.header.Get("Allow"), "OPTIONS") {
			t.Errorf("OPTIONS %s: %d, Allow %q", r.path, got.status, got.header.Get("Allow"))
		}
		got = d.do("PATCH", real(r), nil)
		got.fails(t, 405, schemas.CodeMethodNotAllowed)
		if !strings.Contains(got.header.Get("Allow"), r.method) {
			t.Errorf("PATCH %s: Allow is %q", r.path, got.header.Get("Allow"))
		}
		if r.method != "GET" {
			continue
		}
		full, head := d.do("GET", real(r), nil), d.do("HEAD", real(r), nil)
		if head.status != full.status || len(head.body) != 0 || head.header.Get("Content-Type") != full.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %v, GET: %d %v", r.path, head.status, head.header, full.status, full.header)
		}
		if l := full.header.Get("Content-Length"); l != head.header.Get("Content-Length") {
			t.Errorf("HEAD %s: length %q; GET: %q", r.path, head.header.Get("Content-Length"), l)
		}
	}
}

func TestNoSuchRoute(t *testing.T) {
	d := start(t)
	for _, path := range []string{
		"/", "/v1", "/v2/sandboxes", "/v1/sandboxes/", "/v1//sandboxes", "/v1/./sandboxes", "/v1/sandboxes/../sandboxes",
		"/v1/sandboxes/sb_0123456789abcdef/terminal", "/healthz/", "/favicon.ico", "/v1/sandboxes/%2e%2e%2f/exec/x", "/v1/sandboxes/%2e%2e%2fetc",
	} {
		d.do("GET", path, nil).fails(t, 404, schemas.CodeNotFound)
	}
	d.do("GET", "/v1/sandboxes/sb_0123456789ABCDEF", nil).fails(t, 400, schemas.CodeInvalidRequest, "id")
	d.do("GET", "/v1/snapshots/sb_0123456789abcdef", nil).fails(t, 400, schemas.CodeInvalidRequest, "id")
	d.do("GET", "/metrics", nil).fails(t, 404, schemas.CodeNotFound)
}

// someExec is the path of one that is not there.
const someExec = "/execs/ex_0123456789abcdef"

// Bodies and queries are strict, and say by name what is wrong.
func TestStrictness(t *testing.T) {
	d := start(t)
	at := d.create()
	for name, c := range map[string]struct{ method, path, body, about string }{
		"M1 unknown field":     {"POST", "/v1/sandboxes", `{"privileged":true}`, "privileged"},
		"wrong type":           {"POST", "/v1/sandboxes", `{"cpus":"2"}`, "cpus"},
		"not JSON":             {"POST", "/v1/sandboxes", `{"cpus":`, "JSON"},
		"not an object":        {"POST", "/v1/sandboxes", `[]`, "object"},
		"two values":           {"POST", "/v1/sandboxes", `{}{}`, "JSON"},
		"missing":              {"POST", at + "/exec", ``, "command"},
		"background stream":    {"POST", at + "/exec/stream", `{"command":"true","background":true}`, at + "/exec"},
		"waiting stream":       {"POST", at + "/exec/stream", `{"command":"true","wait_seconds":1}`, at + "/exec"},
		"wait too long":        {"POST", at + "/exec", `{"command":"true","wait_seconds":601}`, "wait_seconds"},
		"exec ID":              {"GET", at + "/execs/ex_1", ``, "exec_id"},
		"poll too long":        {"GET", at + someExec + "?wait_seconds=61", ``, "wait_seconds"},
		"poll as text":         {"GET", at + someExec + "?wait_seconds=x", ``, "wait_seconds"},
		"poll NaN":             {"GET", at + someExec + "?wait_seconds=NaN", ``, "wait_seconds"},
		"poll cursor":          {"GET", at + someExec + "?cursor=5", ``, "cursor"},
		"poll limit":           {"GET", at + someExec + "?max_output_bytes=1.5", ``, "max_output_bytes"},
		"poll encoding":        {"GET", at + someExec + "?encoding=latin1", ``, "encoding"},
		"no signal":            {"POST", at + someExec + "/signal", `{}`, "signal"},
		"unknown signal":       {"POST", at + someExec + "/signal", `{"signal":"9"}`, "signal"},
		"no input":             {"POST", at + someExec + "/stdin", ``, "empty"},
		"B8 timeout":           {"POST", at + "/exec", `{"command":"true","timeout_seconds":1e300}`, "timeout_seconds"},
		"B8 text":              {"POST", at + "/exec/stream", `{"command":"true","timeout_seconds":"5"}`, "timeout_seconds"},
		"F17 environment":      {"POST", at + "/exec", `{"command":"true","env":{"A=B":"c"}}`, "A=B"},
		"ID in a body":         {"POST", at + "/rollback", `{"snapshot_id":"../x"}`, "snapshot_id"},
		"unknown parameter":    {"GET", "/v1/sandboxes?limt=1", ``, "limt"},
		"no parameters":        {"GET", at + "?path=x", ``, "path"},
		"parameter twice":      {"GET", at + "/files?path=a&path=b", ``, "path"},
		"malformed query":      {"GET", at + "/files?path=%zz", ``, "query"},
		"limit":                {"GET", "/v1/sandboxes?limit=0", ``, "limit"},
		"limit as text":        {"GET", "/v1/snapshots?limit=x", ``, "limit"},
		"limit too large":      {"GET", "/v1/sandboxes?limit=100000", ``, "limit"},
		"cursor":               {"GET", "/v1/sandboxes?cursor=!", ``, "cursor"},
		"sandbox_id":           {"GET", "/v1/snapshots?sandbox_id=x", ``, "sandbox_id"},
		"recursive":            {"DELETE", at + "/files?path=x&recursive=yes", ``, "recursive"},
		"mode":                 {"PUT", at + "/files?path=x&mode=9", `x`, "mode"},
		"no path":              {"GET", at + "/files", ``, "path"},
		"empty path":           {"PUT", at + "/files?path=", ``, "path"},
		"empty path of a list": {"GET", at + "/files/list?path=", ``, "path"},
		"two paths":            {"GET", at + "/files?path=a&path_base64=YQ", ``, "path_base64"},
		"path_base64":          {"GET", at + "/files?path_base64=!", ``, "path_base64"},
		"mkdir without":        {"POST", at + "/files/mkdir", `{}`, "path"},
		"mkdir with both":      {"POST", at + "/files/mkdir", `{"path":"a","path_base64":"YQ"}`, "path"},
		"move without to":      {"POST", at + "/files/move", `{"from":"a"}`, "to"},
	} {
		t.Run(name, func(t *testing.T) {
			d.do(c.method, c.path, c.body).fails(t, 400, schemas.CodeInvalidRequest, c.about)
		})
	}
}

func TestBodyLimits(t *testing.T) {
	d := start(t)
	at := d.create()
	pad := strings.Repeat(" ", 1<<20)
	d.do("POST", "/v1/sandboxes", "{}"+pad).fails(t, 413, schemas.CodePayloadTooLarge)
	d.do("POST", "/v1/sandboxes", onlyReader{strings.NewReader("{}" + pad)}).fails(t, 413, schemas.CodePayloadTooLarge)
	if r := get[schemas.ExecResult](d, 200, "POST", at+"/exec", map[string]any{"command": "wc -c", "stdin": strings.Repeat("x", 5_000_000)}); r.Stdout != "5000000\n" {
		t.Errorf("C2: counted %s", r.Stdout)
	}
	// What the manual promises, beside as much environment as there may be.
	env := map[string]string{}
	for i := range 11 {
		env[fmt.Sprint("E", i)] = strings.Repeat("e", 120<<10)
	}
	input := base64.StdEncoding.EncodeToString(make([]byte, 6<<20))
	if r := get[schemas.ExecResult](d, 200, "POST", at+"/exec", map[string]any{"command": "wc -c", "stdin_base64": input, "env": env}); r.Stdout != "6291456\n" {
		t.Errorf("counted %s", r.Stdout)
	}
	d.do("POST", at+"/exec", `{"command":"true"}`+strings.Repeat(pad, 12)).fails(t, 413, schemas.CodePayloadTooLarge)
}

// The document has the bounds that the server has.
func TestBoundsOfParameters(t *testing.T) {
	d := start(t)
	at := d.create()
	job := get[schemas.ExecState](d, 202, "POST", at+"/exec", `{"command":"echo a","background":true}`)
	paths := strings.NewReplacer(sandbox, at, "{exec_id}", string(job.ExecID))
	tried := 0
	for _, r := range routes {
		for _, name := range r.query {
			p := parameterOf(r, name)
			bounded := p.typ == "integer" || p.typ == "number"
			if r.path == sandbox+"/terminal" || !bounded && len(p.oneOf) == 0 {
				continue
			}
			tried++
			good, bad := p.oneOf, []string{"latin1"}
			if bounded {
				good, bad = []string{fmt.Sprint(p.least)}, []string{fmt.Sprint(p.least - 1)}
			}
			if p.most > 0 {
				good, bad = append(good, fmt.Sprint(p.most)), append(bad, fmt.Sprint(p.most+1))
			}
			path := paths.Replace(r.path) + "?" + name + "="
			for _, value := range good {
				if got := d.do(r.method, path+value, nil); got.status != 200 {
					t.Errorf("%s%s: %d %s", path, value, got.status, got.body)
				}
			}
			for _, value := range bad {
				d.do(r.method, path+value, nil).fails(t, 400, schemas.CodeInvalidRequest, name)
			}
		}
	}
	if tried != 6 {
		t.Errorf("tried %d parameters", tried)
	}
}
