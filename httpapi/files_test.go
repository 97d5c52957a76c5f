package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// file is the route of a file's content.
func file(sandbox, path string, more ...string) string {
	return sandbox + "/files?path=" + url.QueryEscape(path) + strings.Join(more, "")
}

// D2, D5: what is stored is the body, whatever it is said to be.
func TestD5BodiesAreStoredAsTheyAre(t *testing.T) {
	d := start(t)
	at := d.create()
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(i * 7)
	}
	for _, kind := range []string{"", "text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/json", "application/gzip"} {
		r := d.as("PUT", file(at, "new/deep/f"), content, "Content-Type", kind, "Content-Encoding", "gzip")
		if r.status != 200 {
			t.Fatalf("%s: %d %s", kind, r.status, r.body)
		}
		got := d.do("GET", file(at, "new/deep/f"), nil)
		if !bytes.Equal(got.body, content) || got.header.Get("Content-Type") != "application/octet-stream" || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d bytes, %v", kind, len(got.body), got.header)
		}
	}
	d.do("GET", file(at, "nowhere"), nil).fails(t, 404, schemas.CodeNotFound)
}

// D9, D10: in chunks, empty, or after a question; a small file replaces a large one.
func TestD10WaysToSend(t *testing.T) {
	d := start(t)
	at := d.create()
	for name, c := range map[string]struct {
		body    any
		headers []string
		size    int64
	}{
		"chunked":       {onlyReader{strings.NewReader(strings.Repeat("x", 700_000))}, nil, 700_000},
		"empty":         {"", nil, 0},
		"empty chunked": {onlyReader{strings.NewReader("")}, nil, 0},
		"expect":        {strings.Repeat("y", 300_000), []string{"Expect", "100-continue"}, 300_000},
	} {
		r := d.as("PUT", file(at, "f"), c.body, c.headers...)
		if r.status != 200 {
			t.Fatalf("%s: %d %s", name, r.status, r.body)
		}
		if got := d.do("GET", file(at, "f"), nil); int64(len(got.body)) != c.size || got.header.Get("Content-Length") != itoa(int(c.size)) {
			t.Errorf("%s: %d bytes, %v", name, len(got.body), got.header)
		}
	}
	info := get[schemas.FileInfo](d, 200, "PUT", file(at, "x.sh", "&mode=755"), "1")
	if info.Mode != "755" || info.Path != "/workspace/x.sh" {
		t.Errorf("info is %+v", info)
	}
	if info = get[schemas.FileInfo](d, 200, "PUT", file(at, "x.sh"), "2"); info.Mode != "755" {
		t.Errorf("F8: mode is %s after it was written again", info.Mode)
	}
}

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
		d.do("PUT", file(at, "f"), body).fails(t, 413, schemas.CodePayloadTooLarge)
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

// shrinking has a file that is shorter than it says.
type shrinking struct{ *manager.Manager }

func (s shrinking) ReadFile(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string, offset, length int64) (schemas.FileInfo, io.ReadCloser, error) {
	info, content, err := s.Manager.ReadFile(ctx, o, id, path, offset, length)
	if path == "shrinks" {
		info.Size += 100_000
	}
	return info, content, err
}

// D8: a file that shrinks breaks its transfer, visibly; nothing follows on the
// connection that could be taken for its rest.
func TestD8FileShrinks(t *testing.T) {
	d := start(t, func(s *setup) { s.core = func(m *manager.Manager) core { return shrinking{m} } })
	at := d.create()
	get[schemas.FileInfo](d, 200, "PUT", file(at, "shrinks"), strings.Repeat("a", 50_000))
	get[schemas.FileInfo](d, 200, "PUT", file(at, "other"), "bbb")
	if r := d.do("GET", file(at, "shrinks"), nil); r.err == nil || bytes.Contains(r.body, []byte("error")) {
		t.Errorf("%d bytes and no error", len(r.body))
	}
	c := dial(t, d)
	c.call("GET", file(at, "shrinks"))
	c.call("GET", file(at, "other"))
	if b, err := io.ReadAll(c.response("GET").Body); err != io.ErrUnexpectedEOF || bytes.Contains(b, []byte("HTTP/1.1")) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if r := d.do("GET", file(at, "other"), nil); string(r.body) != "bbb" {
		t.Errorf("afterwards: %q", r.body)
	}
}

// F1, F3, F18: what may not be written, or is no path at all.
func TestF3Paths(t *testing.T) {
	d := start(t)
	at := d.create()
	outside := []string{
		"/workspace-evil/x", "/workspacefoo", "/workspace\u2215x", "workspace/../..", "/workspace/../etc/passwd", "/workspace/a/../../etc/passwd",
		"../../etc/passwd", "/workspace//../etc", "/", "/proc/self/environ", "/etc/x", ".", "/workspace",
	}
	for _, p := range outside {
		d.do("PUT", file(at, p), "x").fails(t, 400, schemas.CodeInvalidRequest, "path")
		d.do("DELETE", file(at, p), nil).fails(t, 400, schemas.CodeInvalidRequest, "path")
		d.do("POST", at+"/files/move", map[string]string{"from": p, "to": "y"}).fails(t, 400, schemas.CodeInvalidRequest, "from")
		d.do("POST", at+"/files/move", map[string]string{"from": "y", "to": p}).fails(t, 400, schemas.CodeInvalidRequest, "to")
		if p != "." && p != "/workspace" {
			d.do("POST", at+"/files/mkdir", map[string]string{"path": p}).fails(t, 400, schemas.CodeInvalidRequest, "path")
			d.do("PUT", at+"/archive?path="+url.QueryEscape(p), "").fails(t, 400, schemas.CodeInvalidRequest, "path")
		}
	}
	for _, p := range []string{"a\x00b", strings.Repeat("n", 256), strings.Repeat("/n", 2500)} {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			d.do(method, file(at, p), nil).fails(t, 400, schemas.CodeInvalidRequest, "path")
		}
		d.do("GET", at+"/files/list?path="+url.QueryEscape(p), nil).fails(t, 400, schemas.CodeInvalidRequest, "path")
		d.do("GET", at+"/archive?path="+url.QueryEscape(p), nil).fails(t, 400, schemas.CodeInvalidRequest, "path")
	}
	// Once decoded by HTTP, %2e is a name like any other.
	d.do("GET", file(at, "%2e%2e%2f%2e%2e%2fetc%2fpasswd"), nil).fails(t, 404, schemas.CodeNotFound)
	if list := get[schemas.FileList](d, 200, "GET", at+"/files/list", nil); len(list.Entries) != 0 {
		t.Errorf("there are %+v", list.Entries)
	}
}

// F2, F11, F12: all other names are just names.
func TestF11Names(t *testing.T) {
	d := start(t)
	at := d.create()
	names := []string{
		"..config", "...", "a..b", ".hidden", " lead", "trail ", "a\nb", "a\tb", "a\rb", `q"'q`, `back\slash`, "-rf", "*", "a b", "%2e%2e", "a+b", "a&b=c", "a#b?c",
		"\U0001F600", strings.Repeat("n", 255), "$(touch PWN)", "`id`", ";touch PWN",
	}
	for _, n := range names {
		if info := get[schemas.FileInfo](d, 200, "PUT", file(at, n), n); info.Name != n {
			t.Errorf("%q was made as %q", n, info.Name)
		}
	}
	seen := 0
	for cursor := ""; ; {
		page := get[schemas.FileList](d, 200, "GET", at+"/files/list?limit=7&cursor="+cursor, nil)
		for _, e := range page.Entries {
			if r := d.do("GET", file(at, e.Path), nil); string(r.body) != e.Name {
				t.Errorf("%q holds %q", e.Path, r.body)
			}
			seen++
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if seen != len(names) {
		t.Errorf("%d of %d are listed", seen, len(names))
	}
}

// A name that is no UTF-8 is addressed by its bytes.
func TestPathBase64(t *testing.T) {
	d := start(t)
	at := d.create()
	name := "\xff\xfe>?"
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		info := get[schemas.FileInfo](d, 200, "PUT", at+"/files?path_base64="+e.EncodeToString([]byte(name)), "x")
		if got, _ := base64.StdEncoding.DecodeString(info.NameBase64); string(got) != name {
			t.Errorf("made %q", got)
		}
	}
	encoded := base64.StdEncoding.EncodeToString([]byte("/workspace/" + name))
	get[schemas.FileInfo](d, 200, "POST", at+"/files/move", map[string]string{"from_base64": encoded, "to": "plain"})
	get[schemas.FileInfo](d, 200, "POST", at+"/files/mkdir", map[string]string{"path_base64": encoded})
	if r := d.do("DELETE", at+"/files?path_base64="+url.QueryEscape(encoded), nil); r.status != 204 {
		t.Errorf("DELETE: %d %s", r.status, r.body)
	}
	if r := d.do("GET", file(at, "plain"), nil); string(r.body) != "x" {
		t.Errorf("plain is %q", r.body)
	}
}

// F6, F7: what is no file is refused at once.
func TestF6OddTypes(t *testing.T) {
	d := start(t)
	at := d.create()
	d.sh(at, "mkfifo p; mkdir -p dir/full; echo x > f; touch dir/full/g; ln -s /etc e")
	for _, p := range []string{"p", "dir", "f/x"} {
		if r := d.do("GET", file(at, p), nil); r.status < 400 || r.status >= 500 {
			t.Errorf("GET %s: %d %s", p, r.status, r.body)
		}
		if r := d.do("PUT", file(at, p), "x"); p != "p" && (r.status < 400 || r.status >= 500) {
			t.Errorf("PUT %s: %d %s", p, r.status, r.body)
		}
	}
	d.do("PUT", file(at, "new/"), "x").fails(t, 400, schemas.CodeInvalidRequest, "path")
	d.do("PUT", file(at, "e/new"), "x").fails(t, 400, schemas.CodeInvalidRequest)
	d.do("GET", at+"/files/list?path=f", nil).fails(t, 400, schemas.CodeInvalidRequest)
	d.do("GET", at+"/files/list?path=nowhere", nil).fails(t, 404, schemas.CodeNotFound)
	if r := d.do("DELETE", file(at, "dir"), nil); r.status < 400 || r.status >= 500 {
		t.Errorf("DELETE of a full directory: %d", r.status)
	}
	if r := d.do("DELETE", file(at, "dir", "&recursive=true"), nil); r.status != 204 {
		t.Errorf("DELETE: %d %s", r.status, r.body)
	}
}

// A reader of a file who goes away does not keep the sandbox's door open.
func TestE5ReaderHangsUp(t *testing.T) {
	d := start(t)
	at := d.create()
	get[schemas.FileInfo](d, 200, "PUT", file(at, "f"), strings.Repeat("x", 1<<20))
	for range 20 {
		resp, err := d.client.Do(d.request("GET", file(at, "f"), nil))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(err)
		}
		io.CopyN(io.Discard, resp.Body, 1000)
		resp.Body.Close()
	}
	if r := d.do("DELETE", at, nil); r.status != 204 {
		t.Errorf("DELETE: %d", r.status)
	}
}
