package httpapi

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// What is too large is refused, changes nothing, and the next call works, on the
// same connection or another.
func TestTooLargeFiles(t *testing.T) {
	d := start(t, func(s *setup) { s.times.linger = 2 * time.Second })
	at := d.create()
	get[schemas.FileInfo](d, 200, "PUT", file(at, "f"), "old")
	for name, body := range map[string]any{
		"declared": strings.Repeat("x", 1<<20+1),
		"chunked":  onlyReader{strings.NewReader(strings.Repeat("x", 4<<20))},
		"a bit":    onlyReader{strings.NewReader(strings.Repeat("x", 1<<20+1))},
	} {
		d.do("PUT", file(at, "f"), body).fails(t, 413, schemas.CodePayloadTooLarge, "larger than 1048576 bytes")
		if got := d.do("GET", file(at, "f"), nil); string(got.body) != "old" {
			t.Errorf("%s: f is %q", name, got.body)
		}
	}
	d.sh(at, "head -c 2000000 /dev/zero > big")
	d.do("GET", file(at, "big"), nil).fails(t, 413, schemas.CodePayloadTooLarge)
	if r := d.do("HEAD", file(at, "big"), nil); r.status != 200 || r.header.Get("Content-Length") != "2000000" {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}
	if r := d.as("GET", file(at, "big"), nil, "Range", "bytes=-10"); r.status != 206 || len(r.body) != 10 {
		t.Errorf("range: %d, %d bytes", r.status, len(r.body))
	}
}

// A client that asks first is told before it sends; one that does not look at
// the answer until it has sent everything still gets it.
func TestRefusedUploads(t *testing.T) {
	d := start(t)
	at := d.create()
	c := dial(t, d)
	c.call("PUT", file(at, "f"), "Content-Length: 2000000", "Expect: 100-continue")
	readReply(t, c.response("PUT")).fails(t, 413, schemas.CodePayloadTooLarge)

	c = dial(t, d)
	c.call("PUT", file(at, "f"), "Content-Length: 8000000")
	c.say(strings.Repeat("x", 8000000))
	readReply(t, c.response("PUT")).fails(t, 413, schemas.CodePayloadTooLarge)
	if _, err := c.r.ReadByte(); err != io.EOF {
		t.Errorf("the connection goes on: %v", err)
	}

	c = dial(t, d) // what is short is read, and the connection goes on
	for range 2 {
		c.call("POST", "/v1/nowhere", "Content-Length: 4")
		c.say("GET ")
		readReply(t, c.response("POST")).fails(t, 404, schemas.CodeNotFound)
	}
}

// F14: an upload that is cut off leaves the old content, and so does one that
// stands still.
func TestF14CutUpload(t *testing.T) {
	d := start(t, func(s *setup) { s.times.patience, s.times.linger = 100*time.Millisecond, 10*time.Millisecond })
	at := d.create()
	get[schemas.FileInfo](d, 200, "PUT", file(at, "f"), "old")
	c := dial(t, d)
	c.call("PUT", file(at, "f"), "Content-Length: 1000000")
	c.say(strings.Repeat("x", 300_000))
	c.Close()
	c = dial(t, d)
	c.call("PUT", file(at, "f"), "Content-Length: 1000000")
	c.say(strings.Repeat("x", 300_000))
	readReply(t, c.response("PUT")).fails(t, 400, schemas.CodeInvalidRequest, "ended before")
	if got := d.do("GET", file(at, "f"), nil); string(got.body) != "old" {
		t.Errorf("f is %.20q", got.body)
	}
	if list := get[schemas.FileList](d, 200, "GET", at+"/files/list", nil); len(list.Entries) != 1 {
		t.Errorf("there are %+v", list.Entries)
	}
	c = dial(t, d)
	c.call("PUT", file(at, "f"), "Transfer-Encoding: chunked")
	c.say("zzz\r\nnot a chunk")
	readReply(t, c.response("PUT")).fails(t, 400, schemas.CodeInvalidRequest)
}
