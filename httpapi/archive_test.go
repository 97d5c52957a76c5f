package httpapi

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestArchive(t *testing.T) {
	d := start(t)
	at := d.create()
	d.sh(at, "mkdir -p src/sub; echo one > src/sub/f; ln -s f src/sub/l")
	r := d.do("GET", at+"/archive?path=src", nil)
	if r.status != 200 || r.err != nil || r.header.Get("Content-Type") != "application/x-tar" {
		t.Fatalf("%d %v %v", r.status, r.err, r.header)
	}
	for body, dir := range map[any]string{bytes.NewReader(r.body): "copy/a", onlyReader{bytes.NewReader(r.body)}: "copy/b"} {
		if got := d.do("PUT", at+"/archive?path="+dir, body); got.status != 204 {
			t.Fatalf("%s: %d %s", dir, got.status, got.body)
		}
		if got := d.sh(at, "cat "+dir+"/sub/l").Stdout; got != "one\n" {
			t.Errorf("%s: %q", dir, got)
		}
	}
	all := tar.NewReader(bytes.NewReader(d.do("GET", at+"/archive", nil).body))
	names := 0
	for _, err := all.Next(); err == nil; _, err = all.Next() {
		names++
	}
	if names < 9 {
		t.Errorf("%d names in the whole archive", names)
	}
	if head := d.do("HEAD", at+"/archive", nil); head.status != 200 || head.header.Get("Content-Type") != "application/x-tar" {
		t.Errorf("HEAD: %d %v", head.status, head.header)
	}
}

func TestBadArchives(t *testing.T) {
	d := start(t)
	at := d.create()
	d.do("GET", at+"/archive?path=nowhere", nil).fails(t, 404, schemas.CodeNotFound)
	d.do("HEAD", at+"/archive?path=nowhere", nil)
	d.do("PUT", at+"/archive", "this is no tar, though it is longer than nothing").fails(t, 400, schemas.CodeInvalidRequest)
	d.do("PUT", at+"/archive", bytes.Repeat([]byte("x"), 9<<20)).fails(t, 413, schemas.CodePayloadTooLarge)
	d.fake.Inject(backendtest.OpPack, backendtest.Fault{Times: 1, Before: errors.New("before")})
	d.do("GET", at+"/archive", nil).fails(t, 500, schemas.CodeInternal)
	// Once bytes are out, all that is left is to break off.
	d.fake.Inject(backendtest.OpPack, backendtest.Fault{Times: 1, After: errors.New("after")})
	if r := d.do("GET", at+"/archive", nil); r.err == nil {
		t.Errorf("%d, %d bytes: a broken archive passes for a whole one", r.status, len(r.body))
	}
}

// A large archive goes through without being held.
func TestArchiveIsStreamed(t *testing.T) {
	d := start(t)
	at := d.create()
	before := heap()
	pr, pw := io.Pipe()
	peak := int64(0)
	go func() {
		w := tar.NewWriter(pw)
		chunk := make([]byte, 64<<10)
		w.WriteHeader(&tar.Header{Name: "f", Size: 7 << 20, Mode: 0o644})
		for range 7 << 4 {
			w.Write(chunk)
		}
		peak = heap() - before
		pw.CloseWithError(w.Close())
	}()
	if r := d.do("PUT", at+"/archive", pr); r.status != 204 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	// The fake keeps the file itself: once for its content, once while it is read.
	if peak > 32<<20 {
		t.Errorf("%d bytes were held", peak)
	}
}
