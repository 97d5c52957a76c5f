package endpoints

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list into the documents")

func TestAllowed(t *testing.T) {
	for call, want := range map[string]bool{
		"GET /v1.41/containers/json":            true,
		"GET /containers/json":                  true,
		"GET /v1.50/containers/sb_1/json":       true,
		"GET /v1.41/images/a.b/c/d:1/json":      true,
		"DELETE /v1.41/containers/sb_1":         true,
		"POST /v1.41/containers/sb_1/exec":      false,
		"POST /v1.41/containers/json":           false,
		"GET /v1.41/containers/sb_1/export":     false,
		"GET /v1.41/containers/sb_1/logs":       false,
		"POST /v1.41/exec/x/start":              false,
		"POST /v1.41/build":                     false,
		"GET /v1.41/info":                       false,
		"POST /v1.41/images/x/push":             false,
		"POST /v1.41/swarm/init":                false,
		"POST /v1.41/plugins/pull":              false,
		"GET /v1.41/secrets":                    false,
		"POST /evil/containers/create":          false,
		"POST /v1.41/containers/create/x":       false,
		"DELETE /v1.41/containers/a/b":          false,
		"POST /v1.41/networks/x/connect":        false,
		"POST /v1.41/containers/prune":          false,
		"GET /v1.41/containers/sb_1/attach/ws":  false,
		"PUT /v1.41/volumes/x":                  false,
		"GET /v1.41/containers/sb_1/json/../..": false,
	} {
		method, path, _ := strings.Cut(call, " ")
		if got := Allowed(method, path); got != want {
			t.Errorf("%s: %t, want %t", call, got, want)
		}
	}
}

// TestDocuments: what operators are given is this list, and no other.
func TestDocuments(t *testing.T) {
	for _, d := range []struct {
		file, from, to string
		line           func(Endpoint) string
	}{
		{"socket-proxy.md", "| method | path | what for |\n| --- | --- | --- |\n", "\nThe list is", func(e Endpoint) string {
			return fmt.Sprintf("| `%s` | `%s` | %s |\n", e.Method, e.Path, e.Why)
		}},
		{"deploy/docker-proxy.haproxy.cfg", "    # The list of docs/socket-proxy.md.\n", "    http-request deny", func(e Endpoint) string {
			return fmt.Sprintf("    http-request allow if { method %s } { path_reg '%s' }\n", e.Method, e.Pattern())
		}},
		{"deploy/docker-proxy.nginx.conf", "        # The list of docs/socket-proxy.md.\n", "    }", func(e Endpoint) string {
			return fmt.Sprintf("        \"~^%s %s\" 1;\n", e.Method, strings.TrimPrefix(e.Pattern(), "^"))
		}},
	} {
		var want strings.Builder
		for _, e := range All {
			want.WriteString(d.line(e))
		}
		hold(t, "../../docs/"+d.file, d.from, d.to, want.String())
	}
}

// hold compares what lies in a file between from and to.
func hold(t *testing.T, file, from, to, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), from)
	at := strings.Index(rest, to)
	if !found || at < 0 {
		t.Fatalf("%s has no list between %q and %q", file, from, to)
	}
	if rest[:at] == want {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+from+want+rest[at:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s differs from the list (go test ./dockerbackend/endpoints -update writes it):\n%s\nwant\n%s", file, rest[:at], want)
}
