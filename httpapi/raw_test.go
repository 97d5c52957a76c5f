package httpapi

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw is a connection that speaks HTTP by hand.
type raw struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func dial(t testing.TB, d *door) *raw {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return &raw{c, t, bufio.NewReader(c)}
}

func (c *raw) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// call begins a request of Alice's; headers are lines.
func (c *raw) call(method, path string, headers ...string) {
	c.t.Helper()
	c.say(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " + aliceKey + "\r\n" + strings.Join(append(headers, "\r\n"), "\r\n"))
}

// response reads the head of the next answer.
func (c *raw) response(method string) *http.Response {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	return resp
}

func readReply(t testing.TB, resp *http.Response) reply {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, b, err}
}
