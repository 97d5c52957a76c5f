package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/faultproxy"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestHTTPLife: the server ends, dies, starts again, and stands without Docker.
func TestHTTPLife(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST)
	alone(t, s, []testCase[*server]{
		{"SIGTERM during a stream", endsGracefully},
		{"J11 killed during a command", killedDuringCommand},
	})
	t.Run("J7 no Docker", httpWithoutDocker)
	t.Run("J8 the daemon is stuck", httpDaemonFreezes)
	t.Run("HTTPS", overTLS)
}

// endsGracefully: short calls finish, long ones are told why they end, and the
// sandboxes stay.
func endsGracefully(s *server) {
	b := s.create()
	b.must("echo kept > f")
	var short schemas.ExecResult
	var shortErr, longErr error
	var waits []func()
	stream := b.open(ctx(s.t), args{"command": tick, "timeout_seconds": 300})
	defer stream.Body.Close()
	waits = append(waits,
		inBackground(func() { short, shortErr = b.trySh("touch short; sleep 2; echo short") }),
		inBackground(func() { _, longErr = b.trySh("touch long; sleep 300", args{"timeout_seconds": 300}) }),
	)
	eventually(s.t, 10*time.Second, "all run", func() (bool, any) {
		r, err := b.trySh("test -s tick && ls short long")
		return r.ExitCode == 0, err
	})
	began := time.Now()
	s.Signal(syscall.SIGTERM)
	err := client.Events(stream.Body, func(client.Event) {})
	for _, wait := range waits {
		wait()
	}
	if code, err := s.ExitCode(15*time.Second - time.Since(began)); code != 0 || err != nil {
		s.t.Errorf("exit code %d, %v", code, err)
	}
	s.t.Logf("the end took %v", time.Since(began).Round(100*time.Millisecond))
	if shortErr != nil || short.Stdout != "short\n" {
		s.t.Errorf("the short command: %+v, %v", short, shortErr)
	}
	for what, err := range map[string]error{"stream": err, "exec": longErr} {
		if client.Code(err) != string(schemas.CodeBackendUnavailable) || !strings.Contains(err.Error(), "shutting down") {
			s.t.Errorf("%s ended with %v", what, err)
		}
	}
	s.up()
	if out := b.must("cat f"); out != "kept\n" {
		s.t.Errorf("after the restart: %q", out)
	}
	stopped(b)
}

func httpWithoutDocker(t *testing.T) {
	s := startAt(t, client.REST)
	b := s.create()
	b.must("echo kept > f")
	s.Kill()
	o := s.launch()
	o.Env = append(o.Env[:len(o.Env):len(o.Env)], "DOCKER_HOST=unix://"+s.dir+"/none.sock")
	c, err := client.Start(ctx(t), o)
	if err != nil {
		t.Fatal(err)
	}
	s.use(c)
	health := s.do("GET", "/healthz", nil)
	if health.status != 503 || !strings.Contains(health.body, `"unavailable"`) {
		t.Errorf("healthz: %d %s", health.status, health.body)
	}
	if live := s.do("GET", "/livez", nil); live.status != 200 {
		t.Errorf("livez: %d %s", live.status, live.body)
	}
	for _, c := range [][3]string{
		{"POST", "/v1/sandboxes", ""}, {"POST", b.at("/exec"), `{"command":"true"}`}, {"POST", b.at("/exec/stream"), `{"command":"true"}`},
		{"GET", b.file("f"), ""}, {"PUT", b.file("f"), "x"}, {"POST", b.at("/snapshots"), ""},
	} {
		took(t, 10*time.Second, c[1], func() {
			r := s.do(c[0], c[1], strings.NewReader(c[2]))
			r.is(t, strings.Join(c[:], " "), 503, schemas.CodeBackendUnavailable)
			if r.header.Get("Retry-After") == "" {
				t.Errorf("%s has no Retry-After", c[1])
			}
		})
	}
	mcp, err := s.Dial(ctx(t), client.Streamable, aliceKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := mcp.Call(ctx(t), "exec", args{"sandbox_id": b.ID, "command": "true"}, nil); client.Code(err) != string(schemas.CodeBackendUnavailable) {
		t.Errorf("MCP exec: %v", err)
	}
	s.restart()
	if out := b.must("cat f"); out != "kept\n" {
		t.Errorf("with Docker again: %q", out)
	}
}

func httpDaemonFreezes(t *testing.T) {
	d := faultproxy.Start(t, dockerHost())
	s := startAt(t, client.REST)
	s.Kill()
	o := s.launch()
	o.Env = append(o.Env[:len(o.Env):len(o.Env)], "DOCKER_HOST="+d.Host())
	c, err := client.Start(ctx(t), o)
	if err != nil {
		t.Fatal(err)
	}
	s.use(c)
	b := s.create()
	b.must("echo kept > f")
	d.Freeze()
	wait := inBackground(func() {
		took(t, 75*time.Second, "exec on a frozen daemon", func() {
			r := s.do("POST", b.at("/exec"), strings.NewReader(`{"command":"true","timeout_seconds":5}`))
			if r.status != 502 && r.status != 503 {
				t.Errorf("exec on a frozen daemon: %d %s", r.status, r.body)
			}
		})
	})
	took(t, 6*time.Second, "health on a frozen daemon", func() {
		if r := s.do("GET", "/healthz", nil); r.status != 503 {
			t.Errorf("healthz: %d %s", r.status, r.body)
		}
	})
	took(t, time.Second, "what needs no daemon", func() {
		s.do("GET", "/v1/sandboxes", nil, "Authorization", "").is(t, "no key", 401, schemas.CodeUnauthorized)
		if r := s.do("GET", "/livez", nil); r.status != 200 {
			t.Errorf("livez: %d %s", r.status, r.body)
		}
		s.list()
	})
	wait()
	d.Thaw()
	eventually(t, 30*time.Second, "it works again by itself", func() (bool, any) {
		r, err := b.trySh("cat f")
		return r.Stdout == "kept\n", err
	})
	eventually(t, 10*time.Second, "health is back", func() (bool, any) {
		r := s.do("GET", "/healthz", nil)
		return r.status == 200, r.body
	})
}

// certificate makes one for 127.0.0.1.
func certificate(t *testing.T) (cert, key string, trusted *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	check(t, os.WriteFile(cert, text, 0o600))
	check(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	trusted = x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	return cert, key, trusted
}

// overTLS: the same over HTTPS, and so over HTTP/2.
func overTLS(t *testing.T) {
	cert, key, trusted := certificate(t)
	s := startAt(t, client.REST)
	s.Kill()
	p, err := client.Launch(s.launch("--tls-cert-file="+cert, "--tls-key-file="+key))
	if err != nil {
		t.Fatal(err)
	}
	address, err := p.Address()
	if err != nil || !strings.HasPrefix(address, "https://") {
		t.Fatalf("it listens on %q, %v", address, err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}
	s.use(&client.Client{Process: p, URL: address, Key: aliceKey, HTTP: &http.Client{Transport: transport}})
	b := s.create()
	liveOutput(b)
	content := random(5 << 20)
	if r := s.do("PUT", b.file("f"), bytes.NewReader(content)); r.status != 200 {
		t.Errorf("PUT: %d %s", r.status, r.body)
	}
	b.holds("f", content)
	closedStreamKills(b)
	resp := b.open(ctx(t), args{"command": "true"})
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("it speaks %s", resp.Proto)
	}
	plain := "http" + strings.TrimPrefix(address, "https")
	if resp, err := http.Get(plain + "/livez"); err == nil {
		if resp.Body.Close(); resp.StatusCode < 400 {
			t.Errorf("plain HTTP is answered with %d", resp.StatusCode)
		}
	}
}
