package httpapi

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// hosts knows by which names this server may be called, and by which pages.
//
// A web page can have its own host name point at 127.0.0.1 (DNS rebinding) and
// then call a server there as if it were its own; all that gives it away is the
// Host header. On other addresses any name may be right, but there a key is
// always needed, which the page does not have.
type hosts struct {
	loopbackOnly bool
	names        map[string]bool
	origins      map[string]bool
}

func newHosts(listen string, allowed []string) *hosts {
	h := &hosts{
		loopbackOnly: IsLoopback(listen),
		names:        map[string]bool{bareHost(listen): true},
		origins:      map[string]bool{},
	}
	for _, o := range allowed {
		if u, err := parseOrigin(o); err == nil {
			h.origins[originText(u)] = true
			h.names[strings.ToLower(u.Hostname())] = true // as behind a proxy
		}
	}
	return h
}

// IsLoopback tells whether a listener on host can be reached from this machine
// only.
func IsLoopback(host string) bool {
	host = bareHost(host)
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// CheckOrigin tells what is wrong with an origin for [Config].AllowedOrigins.
func CheckOrigin(origin string) error {
	_, err := parseOrigin(origin)
	return err
}

func (h *hosts) checkHost(r *http.Request) error {
	name := bareHost(r.Host)
	if !h.loopbackOnly || h.names[name] || IsLoopback(name) {
		return nil
	}
	e := refuse(schemas.CodeForbidden, "the Host header names another server")
	e.body.Hint = "This server listens on a loopback address and is called as localhost. Another name, as of a proxy in front, must be among the allowed origins."
	return e
}

// checkOrigin is about browsers only: nothing else sends the header.
func (h *hosts) checkOrigin(r *http.Request) error {
	all := r.Header.Values("Origin")
	if len(all) == 0 {
		return nil
	}
	u, err := parseOrigin(all[0])
	if err == nil && len(all) == 1 && (IsLoopback(u.Hostname()) || h.origins[originText(u)]) {
		return nil
	}
	e := refuse(schemas.CodeForbidden, "pages of this origin may not call this server")
	e.body.Hint = "Add the origin to the server's allowed origins if it should be able to."
	return e
}

func parseOrigin(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errors.New("must be an origin such as https://example.com")
	}
	if *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
		return nil, fmt.Errorf("must have nothing after the host: %s://%s", u.Scheme, u.Host)
	}
	return u, nil
}

// originText leaves out what says nothing: case, and the scheme's own port.
func originText(u *url.URL) string {
	port := ""
	if p := u.Port(); p != "" && !(u.Scheme == "http" && p == "80") && !(u.Scheme == "https" && p == "443") {
		port = ":" + p
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + port
}

// bareHost is a host without port and brackets, in lower case.
func bareHost(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
