package e2e

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
)

// TestSocketProxy: the server lives behind a proxy that lets only the calls of
// docs/socket-proxy.md through to Docker; real ones, as people are told to set them
// up.
func TestSocketProxy(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	for _, p := range []socketProxy{
		{"haproxy", "docker-proxy.haproxy.cfg", "bind :2375", "bind unix@", func(conf string) []string { return []string{"-db", "-f", conf} }},
		{"nginx", "docker-proxy.nginx.conf", "listen 2375", "listen unix:", func(conf string) []string {
			return []string{"-c", conf, "-e", "stderr", "-g", "daemon off;"}
		}},
	} {
		t.Run(p.program, func(t *testing.T) {
			t.Parallel()
			installed(t, p.program)
			socket := p.start(t)
			denies(t, socket)
			s := launch(t, program{
				door: client.REST, dockerHost: "unix://" + socket, filtered: true, env: []string{"AGENT_SANDBOX_API_KEYS=alice:" + aliceKey + ",bob:" + bobKey},
			}, "--max-sandboxes=6", poolOfTwo)
			behindProxy(t, s)
		})
	}
}

func behindProxy(t *testing.T, s *server) {
	b := s.create(args{"name": "agent", "env": map[string]string{"WHO": "agent"}})
	runCases(t, b, scenarios)
	runCases(t, b, []testCase[*sandbox]{
		{"a cancelled command", cancelKills},
		{"background signals", backgroundSignals},
		{"a terminal outlives the server", terminalOutlivesServer},
		{"a container that was stopped", containerDies},
	})
	runCases(t, s, []testCase[*server]{
		{"list, set timeout, destroy", listSetDestroy},
		{"restart keeps the sandboxes", restartKeeps},
		{"an image of its own and a network", func(s *server) {
			n := s.create(args{"image": base, "network": true})
			n.must("ls /sys/class/net | grep -v lo")
		}},
	})
}

// socketProxy is a program in front of Docker's socket.
type socketProxy struct {
	program, conf  string
	listens, onOur string // how the configuration listens, and how ours does
	args           func(conf string) []string
}

// start runs it and returns its socket.
func (p socketProxy) start(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../docs/deploy", p.conf))
	check(t, err)
	// Not in t.TempDir, whose path may be too long for a socket.
	dir, err := os.MkdirTemp("", "proxy-")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, conf := filepath.Join(dir, "docker.sock"), filepath.Join(dir, "conf")
	ours := strings.NewReplacer(p.listens, p.onOur+socket, "/run/docker-proxy.pid", filepath.Join(dir, "pid"),
		"unix@/var/run/docker.sock", "unix@"+dockerSocket(t), "unix:/var/run/docker.sock", "unix:"+dockerSocket(t))
	check(t, os.WriteFile(conf, []byte(ours.Replace(string(text))), 0o600))
	cmd := exec.Command(p.program, p.args(conf)...)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	check(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", p.program, tail(log.String()))
		}
	})
	eventually(t, 20*time.Second, p.program+" passes calls on", func() (bool, any) {
		out, err := docker("--host", "unix://"+socket, "version", "--format", "{{.Server.Version}}")
		return err == nil, out
	})
	return socket
}

// dockerSocket is that of the daemon of all tests.
func dockerSocket(t *testing.T) string {
	t.Helper()
	path := "/var/run/docker.sock"
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		var unix bool
		if path, unix = strings.CutPrefix(host, "unix://"); !unix {
			skip.OrFail(t, "Docker is not at a socket but at "+host)
		}
	}
	return path
}

// denies: what is not on the list is answered 403.
func denies(t *testing.T, socket string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	for call, want := range map[string]int{
		"GET /v1.41/_ping":                                   200,
		"GET /v1.41/containers/none/json":                    404,
		"GET /v1.41/info":                                    403,
		"GET /v1.41/events":                                  403,
		"GET /v1.41/secrets":                                 403,
		"GET /v1.41/containers/x/logs":                       403,
		"GET /v1.41/containers/x/export":                     403,
		"GET /v1.41/images/get":                              403,
		"POST /v1.41/containers/x/exec":                      403,
		"POST /v1.41/containers/prune":                       403,
		"POST /v1.41/build":                                  403,
		"POST /v1.41/auth":                                   403,
		"POST /v1.41/plugins/x/enable":                       403,
		"POST /v1.41/swarm/init":                             403,
		"PUT /v1.41/containers/x":                            403,
		"GET /v1.41/images/../info":                          403,
		"GET /v1.41/images/..%2f..%2finfo":                   403,
		"GET /v1.41/info?x=/v1.41/images/json":               403,
		"POST /v1.41/containers/x/exec?/containers/x/attach": 403,
		"GET //v1.41/info":                                   403,
	} {
		method, path, _ := strings.Cut(call, " ")
		req, err := http.NewRequest(method, "http://docker"+path, nil)
		check(t, err)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Errorf("%s: %v", call, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", call, resp.StatusCode, want)
		}
	}
}
