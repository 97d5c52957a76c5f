package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/httpapi"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// user is somebody at a command line, with a server of the real API on a fake
// backend.
type user struct {
	t    *testing.T
	fake *backendtest.Fake
	env  map[string]string
}

func newUser(t *testing.T) *user {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	fake := backendtest.NewFake(t)
	m, err := manager.New(manager.Config{
		DataDir: t.TempDir(), AllowedImages: []string{"*"}, AllowNetwork: true, MaxSandboxes: 5,
		DefaultTimeoutSeconds: 900, MaxTimeoutSeconds: 86400, DefaultCPUs: 1, MaxCPUs: 4, DefaultMemoryMB: 512, MaxMemoryMB: 4096,
		DefaultPidsLimit: 256, MaxPidsLimit: 4096, DefaultExecTimeoutSeconds: 60, MaxExecTimeoutSeconds: 3600,
		MaxExecOutputBytes: 1 << 20, MaxFileBytes: 1 << 16, MaxSnapshotBytes: 16 << 20, ReapInterval: time.Minute, Log: log,
	}, fake)
	if err != nil {
		t.Fatal(err)
	}
	m.Start()
	t.Cleanup(func() { m.Close() })
	keys, err := httpapi.NewKeys(testKey, "")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(httpapi.New(httpapi.Config{Manager: m, Version: "test", Keys: keys, ListenHost: "127.0.0.1", Log: log}))
	t.Cleanup(srv.Close)
	return &user{t, fake, map[string]string{"AGENT_SANDBOX_URL": srv.URL, "AGENT_SANDBOX_API_KEY": testKey}}
}

// outcome is what a command left.
type outcome struct {
	t              *testing.T
	args           []string
	code           int
	stdout, stderr string
}

func (u *user) run(args ...string) outcome { return u.feed("", args...) }

// feed runs a command with standard input.
func (u *user) feed(stdin string, args ...string) outcome {
	u.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(args, u.lookup, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{u.t, args, code, stdout.String(), stderr.String()}
}

func (u *user) lookup(name string) (string, bool) {
	value, ok := u.env[name]
	return value, ok
}

// says fails unless a command succeeded with just this output.
func (o outcome) says(stdout string) {
	o.t.Helper()
	if o.code != 0 || o.stdout != stdout || o.stderr != "" {
		o.t.Errorf("%q: code %d, %q, %q; want %q", o.args, o.code, o.stdout, o.stderr, stdout)
	}
}

// fails fails unless a command did so, and said why in a line and perhaps a hint.
func (o outcome) fails(code int, why string) {
	o.t.Helper()
	lines := strings.Count(o.stderr, "\n")
	if o.code != code || !regexp.MustCompile("^mcp-sandbox: .*"+why).MatchString(o.stderr) || lines > 2 || lines == 2 && !strings.Contains(o.stderr, "\nhint: ") {
		o.t.Errorf("%q: code %d, %q, %q; want code %d and %q", o.args, o.code, o.stdout, o.stderr, code, why)
	}
}

// id is the one line that a command printed.
func (o outcome) id() string {
	o.t.Helper()
	id, ok := strings.CutSuffix(o.stdout, "\n")
	if o.code != 0 || !ok || o.stderr != "" || !regexp.MustCompile(`^(sb|snap)_[0-9a-f]{16}$`).MatchString(id) {
		o.t.Fatalf("%q: code %d, %q, %q", o.args, o.code, o.stdout, o.stderr)
	}
	return id
}

func decoded[T any](o outcome) (v T) {
	o.t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil || o.code != 0 {
		o.t.Fatalf("%q: code %d, %q, %q: %v", o.args, o.code, o.stdout, o.stderr, err)
	}
	return v
}

// With -v every command says which server it uses.
func TestVerboseNamesTheServer(t *testing.T) {
	u := newUser(t)
	url := u.env["AGENT_SANDBOX_URL"]
	if o := u.run("ls", "-qv"); o.code != 0 || o.stdout != "" || o.stderr != "mcp-sandbox: using the server at "+url+"\n" {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
	u.run("ls", "-q").says("")
}

func TestCreateAndList(t *testing.T) {
	u := newUser(t)
	id := u.run("create", "--name=web", "--timeout=1h", "--cpus=0.5", "--memory-mb=64", "-e", "A=b=c", "-e", "HOME").id()
	list := decoded[schemas.SandboxList](u.run("ls", "-o", "json")).Sandboxes
	if len(list) != 1 || string(list[0].ID) != id || list[0].CPUs != 0.5 || list[0].MemoryMB != 64 || list[0].Name != "web" ||
		list[0].ExpiresAt.Sub(list[0].CreatedAt).Round(time.Second) != time.Hour {
		t.Errorf("list is %+v", list)
	}
	table := u.run("ls").stdout
	if want := `^ID +NAME +STATUS +IMAGE +AGE +EXPIRES IN\n` + id + ` +web +running +\S+ +\d+s +\d+m\n$`; !regexp.MustCompile(want).MatchString(table) {
		t.Errorf("the table is\n%s", table)
	}
	u.run("ls", "-q").says(id + "\n")
	u.run("exec", "web", `echo "$A"`).says("b=c\n")
	made := decoded[schemas.Sandbox](u.run("create", "--network", "-o", "json"))
	if !made.Network || made.ReadOnlyRootfs == false {
		t.Errorf("made %+v", made)
	}
	u.run("timeout", "web", "7200").says(id + " expires at " + decoded[schemas.SandboxList](u.run("ls", "-ojson")).Sandboxes[0].ExpiresAt.Local().Format(time.RFC3339) + "\n")
}

// Hints that speak of requests are not for who types flags.
func TestNoHintAtTheAPI(t *testing.T) {
	u := newUser(t)
	if o := u.run("create", "--cpus=99"); o.code != 1 || strings.Contains(o.stderr, "openapi") || !strings.Contains(o.stderr, "cpus is 99") {
		t.Errorf("code %d, %q", o.code, o.stderr)
	}
}

// A sandbox or snapshot may be named by its name or the beginning of its ID, if
// that is clear.
func TestNames(t *testing.T) {
	u := newUser(t)
	a, b := u.run("create", "--name=a").id(), u.run("create", "--name=twin").id()
	twin := u.run("create", "--name=twin").id()
	for _, name := range []string{a, a[:10], strings.TrimPrefix(a, "sb_")[:8], "a"} {
		u.run("exec", name, "pwd").says("/workspace\n")
	}
	u.run("exec", "twin", "pwd").fails(125, `"twin" may be any of: `+b+` twin, `+twin+` twin`)
	u.run("exec", "nobody", "pwd").fails(125, `no sandbox has the ID or name "nobody"`)
	u.run("exec", "", "pwd").fails(125, `no sandbox has`)
	u.run("exec", "sb_", "pwd").fails(125, `no sandbox has`)
	u.run("exec", "sb_0123456789abcdef", "pwd").fails(125, `no sandbox sb_0123456789abcdef`)
	snap := u.run("snapshot", "a", "--name=a").id()
	u.run("rm", "a").fails(1, `"a" may be any of: `+a+` a, `+snap+` a`)
	u.run("rm", snap[:12], "twin").fails(1, "may be any of")
	u.run("ls", "-sq").says(snap + "\n")
	u.run("rm", snap[:12], a, a).says("")
	u.run("ls", "-sq").says("")
	u.run("ls", "-q").says(b + "\n" + twin + "\n")
	u.run("rm", a).fails(1, "no sandbox "+a)
	u.run("rm", "-f", a, "nothing", snap).says("")
}

func TestSnapshotForkRollback(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	u.run("exec", id, "echo old > f").says("")
	snap := u.run("snapshot", id, "--name", "before").id()
	if s := decoded[schemas.SnapshotList](u.run("ls", "--of", id, "-o", "json")).Snapshots; len(s) != 1 || s[0].Name != "before" {
		t.Errorf("snapshots are %+v", s)
	}
	u.run("ls", "-s").prints(t, `(?m)^`+snap+` +before +`+id)
	u.run("exec", id, "echo new > f").says("")
	u.run("rollback", id, "before").says(id + "\n")
	u.run("exec", id, "cat f").says("old\n")
	forks := strings.Fields(u.run("fork", "before", "-n2", "--timeout=60s").stdout)
	if len(forks) != 2 {
		t.Fatalf("forks are %q", forks)
	}
	u.run("exec", forks[1], "cat f").says("old\n")
	if one := decoded[schemas.ForkResult](u.run("fork", id, "-o", "json")); len(one.Sandboxes) != 1 {
		t.Errorf("forked %+v", one)
	}
	// There is room for one more only.
	some := u.run("fork", "before", "-n", "3")
	some.fails(1, "2 of 3 forks were not made: ")
	if len(strings.Fields(some.stdout)) != 1 {
		t.Errorf("made %q", some.stdout)
	}
	u.run("fork", "before").fails(1, "all 5 sandboxes that this server allows are in use")
	u.run("rollback", id, "nowhere").fails(1, "no snapshot has the ID or name")
}

// prints fails unless a command succeeded with such output.
func (o outcome) prints(t *testing.T, want string) {
	t.Helper()
	if o.code != 0 || !regexp.MustCompile(want).MatchString(o.stdout) {
		t.Errorf("%q: code %d, %q, %q; want %q", o.args, o.code, o.stdout, o.stderr, want)
	}
}

func TestFailuresAsJSON(t *testing.T) {
	u := newUser(t)
	for _, args := range [][]string{{"exec", "-o", "json", "sb_0123456789abcdef", "true"}, {"rm", "x", "-ojson"}, {"create", "-ojson", "--image=Bad:::"}} {
		o := u.run(args...)
		var body schemas.ErrorBody
		if err := json.Unmarshal([]byte(o.stderr), &body); err != nil || o.code == 0 || o.stdout != "" || body.Error.Code == "" || body.Error.Hint == "" {
			t.Errorf("%q: code %d, %q, %q", args, o.code, o.stdout, o.stderr)
		}
	}
	u.env["AGENT_SANDBOX_API_KEY"] = "another-key-0123456789"
	o := u.run("ls")
	o.fails(1, "a valid key is needed")
	if !strings.Contains(o.stderr, "AGENT_SANDBOX_API_KEY") || strings.Contains(o.stderr, "another-key") {
		t.Errorf("it says %q", o.stderr)
	}
	u.env["AGENT_SANDBOX_URL"] = "http://127.0.0.1:1/v1"
	u.run("ls").fails(1, "no answer from http://127.0.0.1:1: ")
	u.env["AGENT_SANDBOX_URL"] = "ftp://x"
	u.run("ls").fails(2, `AGENT_SANDBOX_URL="ftp://x": must be a URL such as`)
}
