package httpapi

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

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
