package httpapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// O4: nothing but health works without a key, on any route, known or not.
func TestO4EveryRouteNeedsAKey(t *testing.T) {
	d := start(t)
	paths := map[string]string{"/no/such/route": "GET", "/v1/sandboxes/nonsense": "TRACE"}
	for _, r := range routes {
		if !free(r.path) {
			paths[sample(r)] = r.method
		}
	}
	wrong := [][]string{
		{"Authorization", ""},
		{"Authorization", "Bearer"},
		{"Authorization", "Bearer "},
		{"Authorization", aliceKey},
		{"Authorization", "Basic " + aliceKey},
		{"Authorization", "Bearer  " + aliceKey},
		{"Authorization", "Bearer " + aliceKey[:len(aliceKey)-1]},
		{"Authorization", "Bearer " + aliceKey + "x"},
		{"Authorization", "Bearer " + aliceKey + "\t."},
		{"Authorization", "Bearer " + aliceKey + "\u00a0"},
		{"Authorization", "Bearer alice:" + aliceKey},
		{"Authorization", "", "X-API-Key", ""},
		{"Authorization", "", "X-API-Key", "Bearer " + aliceKey},
		{"Authorization", "", "X-API-Key", "nonsense"},
	}
	var first string
	for path, method := range paths {
		for _, headers := range wrong {
			r := d.as(method, path, nil, headers...)
			r.fails(t, 401, schemas.CodeUnauthorized)
			if r.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s: no WWW-Authenticate", method, path)
			}
			if first == "" {
				first = string(r.body)
			}
			if string(r.body) != first {
				t.Errorf("%s %s says %s, and others %s", method, path, r.body, first)
			}
		}
		d.as(method, path+"?key="+aliceKey+"&api_key="+aliceKey, nil, "Authorization", "").fails(t, 401, schemas.CodeUnauthorized)
	}
	for _, path := range []string{"/healthz", "/livez"} {
		if r := d.as("GET", path, nil, "Authorization", ""); r.status != 200 {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	for _, secret := range []string{aliceKey, bobKey, "nonsense"} {
		if strings.Contains(d.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

func TestBothHeaders(t *testing.T) {
	d := start(t)
	for _, headers := range [][]string{
		{"Authorization", "bearer " + aliceKey},
		{"Authorization", "", "X-API-Key", aliceKey},
		{"Authorization", "Basic abc", "X-API-Key", aliceKey},
	} {
		if r := d.as("GET", "/v1/sandboxes", nil, headers...); r.status != 200 {
			t.Errorf("%q: %d %s", headers, r.status, r.body)
		}
	}
	req := d.request("GET", "/v1/sandboxes", nil)
	req.Header.Add("Authorization", "Bearer "+bobKey)
	d.send(req).fails(t, 401, schemas.CodeUnauthorized)
}

func TestInsecure(t *testing.T) {
	d := start(t, func(s *setup) { s.Keys, s.Insecure = nil, true })
	if r := d.as("GET", "/v1/sandboxes", nil, "Authorization", ""); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	closed := start(t, func(s *setup) { s.Keys = nil })
	closed.do("GET", "/v1/sandboxes", nil).fails(t, 401, schemas.CodeUnauthorized)
	keyed := start(t, func(s *setup) { s.Insecure = true })
	keyed.as("GET", "/v1/sandboxes", nil, "Authorization", "").fails(t, 401, schemas.CodeUnauthorized)
}

// O1, O2, O3: what is another's and what never was cannot be told apart.
func TestO1OwnersAreApart(t *testing.T) {
	d := start(t)
	at := d.create()
	get[schemas.FileInfo](d, 200, "PUT", at+"/files?path=f", "abc")
	snap := "/v1/snapshots/" + string(get[schemas.Snapshot](d, 201, "POST", at+"/snapshots", nil).ID)
	_, exec := d.launch(at, "sleep 600")
	unknown := strings.NewReplacer(at, "/v1/sandboxes/sb_0123456789abcdef", snap, "/v1/snapshots/snap_0123456789abcdef")
	bodies := map[string]string{
		"/exec": `{"command":"true"}`, "/exec/stream": `{"command":"true"}`, "/timeout": `{"timeout_seconds":60}`,
		"/files/mkdir": `{"path":"d"}`, "/files/move": `{"from":"f","to":"g"}`,
		strings.TrimPrefix(exec, at) + "/signal": `{"signal":"INT"}`, strings.TrimPrefix(exec, at) + "/stdin": "x",
		"/rollback": `{"snapshot_id":"` + strings.TrimPrefix(snap, "/v1/snapshots/") + `"}`,
	}
	for _, r := range routes {
		if !strings.Contains(r.path, "{id}") {
			continue
		}
		path := strings.NewReplacer(oneExec, exec, sandbox, at, snapshot, snap).Replace(r.path)
		query := ""
		if strings.HasSuffix(path, "/files") {
			query = "?path=f"
		}
		var got [2]reply
		for i, p := range []string{path, unknown.Replace(path)} {
			got[i] = d.as(r.method, p+query, bodies[strings.TrimPrefix(path, at)], "Authorization", "Bearer "+bobKey, "X-Request-Id", "x")
			got[i].fails(t, 404, schemas.CodeNotFound)
			got[i].header.Del("Date")
		}
		theirs, none := unknown.Replace(string(got[0].body)), string(got[1].body)
		for _, id := range []string{at, snap} {
			id = id[strings.LastIndex(id, "/")+1:]
			theirs = strings.ReplaceAll(theirs, id, id[:strings.Index(id, "_")]+"_0123456789abcdef")
		}
		if theirs != none || len(got[0].header) != len(got[1].header) {
			t.Errorf("%s %s: %s %v; for an ID that never was: %s %v", r.method, r.path, theirs, got[0].header, none, got[1].header)
		}
	}
	for _, list := range []string{"/v1/sandboxes", "/v1/snapshots", "/v1/snapshots?sandbox_id=" + strings.TrimPrefix(at, "/v1/sandboxes/")} {
		if r := d.as("GET", list, nil, "Authorization", "Bearer "+bobKey); strings.Contains(string(r.body), "_0") || strings.Contains(string(r.body), `"id"`) {
			t.Errorf("%s shows %s", list, r.body)
		}
	}
	if got := d.sh(at, "cat f").Stdout; got != "abc" {
		t.Errorf("f is %q", got)
	}
}

func TestKeys(t *testing.T) {
	k, err := NewKeys(" plain-key-12345678 ,a:first-key-12345678,a:second-key-1234567, ", "")
	if err != nil || k.Len() != 3 {
		t.Fatalf("%d keys, %v", k.Len(), err)
	}
	for key, want := range map[string]manager.Owner{
		"plain-key-12345678": manager.DefaultOwner, "first-key-12345678": "a", "second-key-1234567": "a",
	} {
		if got, ok := k.Owner(key); !ok || got != want {
			t.Errorf("%s is %q's, %v", key, got, ok)
		}
	}
	var zero Keys
	for _, k := range []*Keys{nil, &zero} {
		if _, ok := k.Owner(""); ok {
			t.Error("no keys, and one is known")
		}
	}
}

func TestBadKeys(t *testing.T) {
	for text, about := range map[string]string{
		"short":                      "key 1 of the list: a key must have at least 16",
		"good-key-123456789,b:short": "key 2 of the list",
		"good-key-123456789,b:good-key-123456789": "key 2 of the list: the same key",
		"bad name:good-key-123456789":             "name before the colon",
		":good-key-123456789":                     "name before the colon",
		"../x:good-key-123456789":                 "name before the colon",
		"good key 123456789":                      "visible ASCII",
		"good-key-12345678é":                      "visible ASCII",
	} {
		_, err := NewKeys(text, "")
		if err == nil || !strings.Contains(err.Error(), about) || strings.Contains(err.Error(), "good-key") {
			t.Errorf("%q: %v; want it to say %q and to show no key", text, err, about)
		}
	}
}

// A key file is read again; what is wrong with it then changes nothing.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# ours\n\na:first-key-12345678 # until May\r\n")
	k, err := NewKeys("fixed-key-12345678", file)
	if err != nil {
		t.Fatal(err)
	}
	knows := func(key string, want bool) {
		t.Helper()
		if _, ok := k.Owner(key); ok != want {
			t.Errorf("%s is known: %v", key, ok)
		}
	}
	knows("first-key-12345678", true)
	write("a:second-key-12345678\n\nshort\n")
	if err := k.Reload(); err == nil || !strings.Contains(err.Error(), "line 3 of the key file") {
		t.Errorf("error is %v", err)
	}
	knows("first-key-12345678", true)
	write("a:second-key-12345678\n")
	if err := k.Reload(); err != nil {
		t.Error(err)
	}
	knows("first-key-12345678", false)
	knows("second-key-12345678", true)
	knows("fixed-key-12345678", true)
	os.Remove(file)
	if err := k.Reload(); err == nil {
		t.Error("no error without the file")
	}
	knows("second-key-12345678", true)
}
