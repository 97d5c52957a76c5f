package httpapi

import (
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestRanges(t *testing.T) {
	d := start(t)
	at := d.create()
	get[schemas.FileInfo](d, 200, "PUT", file(at, "f"), "0123456789")
	get[schemas.FileInfo](d, 200, "PUT", file(at, "empty"), "")
	whole := d.do("GET", file(at, "f"), nil)
	if whole.header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("header is %v", whole.header)
	}
	for _, c := range []struct {
		name, header string
		status       int
		body, about  string
	}{
		{"f", "bytes=0-0", 206, "0", "bytes 0-0/10"},
		{"f", "bytes=2-4", 206, "234", "bytes 2-4/10"},
		{"f", "bytes=7-", 206, "789", "bytes 7-9/10"},
		{"f", "bytes=-3", 206, "789", "bytes 7-9/10"},
		{"f", "bytes=-99", 206, "0123456789", "bytes 0-9/10"},
		{"f", "bytes=5-99999999999999999999999", 206, "56789", "bytes 5-9/10"},
		{"f", "bytes=10-", 416, "", "bytes */10"},
		{"f", "bytes=99999999999999999999999-", 416, "", "bytes */10"},
		{"f", "bytes=-0", 416, "", "bytes */10"},
		{"empty", "bytes=0-", 416, "", "bytes */0"},
		{"empty", "bytes=-1", 416, "", "bytes */0"},
		{"f", "bytes=4-2", 200, "0123456789", ""},
		{"f", "bytes=0-1,3-4", 200, "0123456789", ""},
		{"f", "lines=0-1", 200, "0123456789", ""},
		{"f", "bytes=a-b", 200, "0123456789", ""},
		{"f", "bytes=--1", 200, "0123456789", ""},
	} {
		got := d.as("GET", file(at, c.name), nil, "Range", c.header)
		if got.header.Get("Content-Range") != c.about {
			t.Errorf("%s: Content-Range is %q", c.header, got.header.Get("Content-Range"))
		}
		if c.status == 416 {
			got.fails(t, 416, schemas.CodeInvalidRequest)
		} else if got.status != c.status || string(got.body) != c.body {
			t.Errorf("%s: %d %q", c.header, got.status, got.body)
		}
		head := d.as("HEAD", file(at, c.name), nil, "Range", c.header)
		if head.status != c.status || head.header.Get("Content-Range") != c.about || head.header.Get("Content-Length") != got.header.Get("Content-Length") {
			t.Errorf("HEAD %s: %d %v", c.header, head.status, head.header)
		}
	}
	for ifRange, status := range map[string]int{
		whole.header.Get("ETag"): 206, whole.header.Get("Last-Modified"): 206, `"other"`: 200, "Mon, 02 Jan 2006 15:04:05 GMT": 200,
	} {
		if got := d.as("GET", file(at, "f"), nil, "Range", "bytes=1-1", "If-Range", ifRange); got.status != status {
			t.Errorf("If-Range %s: %d; want %d", ifRange, got.status, status)
		}
	}
}
