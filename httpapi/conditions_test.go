package httpapi

import (
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// F22: a piece of a file, or a write under a condition, is refused and not done in
// full; a GET is answered whatever it says.
func TestF22WritesInPartOrOnConditionAreRefused(t *testing.T) {
	d := start(t)
	at := d.create()
	if r := d.as("PUT", file(at, "f"), "content"); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for name, value := range map[string]string{
		"Content-Range": "bytes 0-1/7", "If-Match": `"other"`, "If-None-Match": "*",
		"If-Unmodified-Since": "Mon, 01 Jan 2001 00:00:00 GMT", "If-Modified-Since": "Mon, 01 Jan 2001 00:00:00 GMT",
	} {
		for _, method := range []string{"PUT", "DELETE"} {
			d.as(method, file(at, "f"), "xx", name, value).fails(t, 400, schemas.CodeInvalidRequest, name)
		}
		if r := d.as("GET", file(at, "f"), nil, name, value); r.status != 200 || string(r.body) != "content" {
			t.Errorf("%s on GET: %d %q", name, r.status, r.body)
		}
	}
}

// H14: a conflict with what is there is not told to wait.
func TestH14ConflictHintsFit(t *testing.T) {
	d := start(t)
	at := d.create()
	for _, path := range []string{"f", "d/g"} {
		if r := d.as("PUT", file(at, path), "x"); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	for path, body := range map[string]string{"/files/mkdir": `{"path":"f"}`, "/files/move": `{"from":"f","to":"d"}`} {
		e := d.do("POST", at+path, body).fails(t, 409, schemas.CodeConflict)
		if e.Retryable || !strings.Contains(e.Hint, "in the way") {
			t.Errorf("%s: %+v", path, e)
		}
	}
}
