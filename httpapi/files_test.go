package httpapi

import (
	"bytes"
	"context"
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
	// What the server closes with a request unread is reset, too, if it is late.
	if b, err := io.ReadAll(c.response("GET").Body); err == nil || bytes.Contains(b, []byte("HTTP/1.1")) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if r := d.do("GET", file(at, "other"), nil); string(r.body) != "bbb" {
		t.Errorf("afterwards: %q", r.body)
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

// Who copies a file gets its mode and exact time with it.
func TestModeAndTimeOfAFile(t *testing.T) {
	d := start(t)
	at := d.create()
	info := get[schemas.FileInfo](d, 200, "PUT", file(at, "run.sh", "&mode=750"), "x")
	for _, method := range []string{"GET", "HEAD"} {
		h := d.do(method, file(at, "run.sh"), nil).header
		when, err := time.Parse(time.RFC3339Nano, h.Get("X-File-Modified"))
		if h.Get("X-File-Mode") != "750" || err != nil || !when.Equal(info.ModifiedAt) {
			t.Errorf("%s: %q, %v, %v; want %v", method, h.Get("X-File-Mode"), when, err, info.ModifiedAt)
		}
	}
}
