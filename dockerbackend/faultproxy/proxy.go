package faultproxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Proxy is one socket in front of Docker's. All methods may be called at once.
type Proxy struct {
	path   string // of the socket
	docker string // address behind it, as DOCKER_HOST has it
	pass   *httputil.ReverseProxy
	ctx    context.Context // ends with the test

	mu       sync.Mutex
	server   *http.Server
	rules    []*Rule
	lifted   chan struct{} // closed by Lift
	recorded []Call
	record   bool
	wires    map[*wire]bool
	thawed   chan struct{} // closed while bytes pass
	budget   *budget       // of the streams; nil: without limit
}

// Start begins to serve in front of Docker, whose address is as DOCKER_HOST has
// it; it ends with the test.
func Start(t testing.TB, docker string) *Proxy {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{
		path: filepath.Join(t.TempDir(), "docker.sock"), docker: docker, ctx: ctx,
		lifted: make(chan struct{}), wires: map[*wire]bool{}, thawed: make(chan struct{}),
	}
	close(p.thawed)
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial() }}
	p.pass = &httputil.ReverseProxy{
		Rewrite:       func(q *httputil.ProxyRequest) { q.SetURL(&url.URL{Scheme: "http", Host: "docker"}) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { hangUp(w, "") },
	}
	if err := p.Up(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		p.Thaw()
		p.Lift()
		p.Down()
		transport.CloseIdleConnections()
	})
	return p
}

// Host is the proxy's address, as DOCKER_HOST has it.
func (p *Proxy) Host() string { return "unix://" + p.path }

func (p *Proxy) dial() (net.Conn, error) {
	network, address, _ := strings.Cut(p.docker, "://")
	return net.Dial(network, address)
}

// Up serves again after Down.
func (p *Proxy) Up() error {
	os.Remove(p.path)
	l, err := net.Listen("unix", p.path)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ConnState: p.noteState, ErrorLog: log.New(io.Discard, "", 0)}
	go p.server.Serve(&listener{l, p})
	return nil
}

// Down closes the socket and every connection, as a daemon that ends does.
func (p *Proxy) Down() {
	p.mu.Lock()
	server, wires := p.server, p.wires
	p.wires = map[*wire]bool{}
	p.mu.Unlock()
	server.Close()
	for w := range wires {
		w.Close()
	}
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	defer func() { // a broken connection is what tests ask for
		if v := recover(); v != nil && !errors.Is(asError(v), http.ErrAbortHandler) {
			panic(v)
		}
	}()
	if f, lifted := p.judge(callOf(r)); f != "" {
		p.fail(w, r, f, lifted)
		return
	}
	p.pass.ServeHTTP(w, r)
}

func asError(v any) error {
	err, _ := v.(error)
	return err
}
