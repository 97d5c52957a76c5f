package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// HTTP/2, which TLS brings, has deadlines and endings of its own.
func TestHTTP2(t *testing.T) {
	var s setup
	d := start(t, func(x *setup) {
		x.times.patience, x.times.heartbeat, x.times.begin = 300*time.Millisecond, 100*time.Millisecond, 10*time.Millisecond
		s = *x
	})
	s.Manager = d.manager
	srv := httptest.NewUnstartedServer(newServer(s.Config, d.manager, s.times))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	d.url, d.client = srv.URL, srv.Client()

	at := d.create()
	// It lasts longer than a writer is waited for, and is silent meanwhile.
	if all := d.stream(at, `{"command":"echo a; sleep 0.7; echo b"}`); joined(all, "stdout") != "a\nb\n" {
		t.Errorf("events are %+v", all)
	}
	if r := d.do("POST", at+"/exec", `{"command":"sleep 0.7; echo b"}`); r.status != 200 {
		t.Errorf("exec: %d %s", r.status, r.body)
	}
	get[schemas.FileInfo](d, 200, "PUT", file(at, "f"), onlyReader{strings.NewReader(strings.Repeat("x", 1<<20))})
	d.do("PUT", file(at, "f"), strings.Repeat("x", 2<<20)).fails(t, 413, schemas.CodePayloadTooLarge)
	if r := d.do("GET", file(at, "f"), nil); len(r.body) != 1<<20 || r.err != nil {
		t.Errorf("%d bytes, %v", len(r.body), r.err)
	}
}
