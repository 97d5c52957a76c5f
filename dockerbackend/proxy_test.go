package dockerbackend

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/endpoints"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// TestBehindASocketProxy: the whole life of a sandbox through such a proxy.
func TestBehindASocketProxy(t *testing.T) {
	r := newRig(t)
	api, err := client.NewClientWithOpts(client.WithHost(r.filter()))
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend(r.b.cfg, r.b.user, api)
	defer b.Close()
	if info, err := b.Probe(r.ctx); err != nil || info.Version == "" {
		t.Errorf("probe: %+v, %v", info, err)
	}
	r.b = b
	s := spec(busybox)
	s.Network = true
	box := r.create(s)
	box.sh("echo kept > f")
	box.open()
	if got := box.sh("cat f"); got != "kept\n" {
		t.Errorf("got %q", got)
	}
	if found, err := b.List(r.ctx); err != nil || len(found) != 2 {
		t.Errorf("list: %+v, %v", found, err)
	}
	r.mustRemove(box.ref)
	if _, err := b.docker.info(r.ctx); manager.KindOf(err) != manager.KindBackend {
		t.Errorf("info through the proxy: %v", err)
	}
}

// filter starts the proxy and returns its address.
func (r *rig) filter() string {
	r.Helper()
	network, address, _ := strings.Cut(r.docker.DaemonHost(), "://")
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	r.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: "docker"}) },
		Transport: transport,
	}
	l, err := net.Listen("unix", filepath.Join(r.TempDir(), "proxy.sock"))
	if err != nil {
		r.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !endpoints.Allowed(q.Method, q.URL.Path) {
			r.Logf("denied: %s %s", q.Method, q.URL.Path)
			http.Error(w, "denied", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, q)
	})}
	go server.Serve(l)
	r.Cleanup(func() { server.Close() })
	return "unix://" + l.Addr().String()
}
