package httpapi

import (
	"net/http"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// A page whose name was made to point here says so in Host; a page from
// elsewhere in Origin.
func TestHostsAndOrigins(t *testing.T) {
	d := start(t, func(s *setup) { s.AllowedOrigins = []string{"https://App.example.com:443"} })
	open := start(t, func(s *setup) { s.ListenHost = "0.0.0.0" })
	for _, c := range []struct {
		d            *door
		host, origin string
		ok           bool
	}{
		{d, "localhost", "", true},
		{d, "localhost.:8080", "", true},
		{d, "LOCALHOST:8080", "", true},
		{d, "127.0.0.1:1", "", true},
		{d, "[::1]:8080", "", true},
		{d, "app.example.com", "", true}, // a proxy in front
		{d, "evil.example.com", "", false},
		{d, "evil.example.com:8080", "", false},
		{d, "localhost.evil.example.com", "", false},
		{d, "127.0.0.1.evil.example.com", "", false},
		{d, "192.168.0.1", "", false},
		{d, "localhost", "http://localhost:3000", true},
		{d, "localhost", "http://[::1]", true},
		{d, "localhost", "https://app.example.com", true},
		{d, "localhost", "http://app.example.com", false},
		{d, "localhost", "https://app.example.com:444", false},
		{d, "localhost", "https://app.example.com.evil.com", false},
		{d, "localhost", "http://localhost@evil.com", false},
		{d, "localhost", "null", false},
		{d, "localhost", "file://", false},
		{open, "sandbox.example.com", "", true},
		{open, "sandbox.example.com", "https://evil.example.com", false},
	} {
		for _, path := range []string{"/v1/sandboxes", "/livez"} {
			r := c.d.as("GET", path, nil, "Host", c.host, "Origin", c.origin)
			if c.ok && r.status != 200 {
				t.Errorf("%+v: %d %s", c, r.status, r.body)
			}
			if got := r.header.Get("Access-Control-Allow-Origin"); c.ok && got != c.origin || !c.ok && got != "" {
				t.Errorf("%+v: Access-Control-Allow-Origin is %q", c, got)
			}
			if !c.ok && path != "/livez" {
				r.fails(t, 403, schemas.CodeForbidden)
			}
			if !c.ok && r.status != 403 {
				t.Errorf("%+v: %s: %d", c, path, r.status)
			}
		}
	}
}

func TestPreflight(t *testing.T) {
	d := start(t)
	r := d.as("OPTIONS", "/v1/sandboxes", nil, "Authorization", "", "Origin", "http://localhost:3000",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
	if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Headers") != "authorization,content-type" || r.header.Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("%d %v", r.status, r.header)
	}
	d.as("OPTIONS", "/v1/sandboxes", nil, "Authorization", "", "Origin", "http://evil.example.com",
		"Access-Control-Request-Method", "POST").fails(t, 403, schemas.CodeForbidden)
	d.as("OPTIONS", "/v1/sandboxes", nil, "Authorization", "").fails(t, 401, schemas.CodeUnauthorized)
}

func TestCheckOrigin(t *testing.T) {
	for origin, ok := range map[string]bool{
		"https://example.com": true, "http://example.com:8080": true, "http://[::1]:80": true,
		"example.com": false, "https://example.com/": false, "https://u@example.com": false, "ftp://example.com": false, "*": false, "": false, "https://": false,
	} {
		if err := CheckOrigin(origin); (err == nil) != ok {
			t.Errorf("%q: %v", origin, err)
		}
	}
	for host, loopback := range map[string]bool{"127.0.0.1": true, "127.3.2.1": true, "::1": true, "[::1]": true, "localhost": true, "": false, "0.0.0.0": false, "::": false, "example.com": false} {
		if IsLoopback(host) != loopback {
			t.Errorf("IsLoopback(%q) is %v", host, !loopback)
		}
	}
}
