package e2e

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestHTTPFiles: bytes in and out as HTTP carries them.
func TestHTTPFiles(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST)
	runCases(t, s.create(), []testCase[*sandbox]{
		{"D2 D10 uploads of every kind", uploads},
		{"D5 content types", contentTypes},
		{"D8 a file that shrinks", shrinkingFile},
		{"E5 part of an enormous file", partOfEnormousFile},
		{"F14 an upload that is cut off", cutUpload},
		{"F14 the server dies during an upload", serverDiesDuringUpload},
	})
	runCases(t, s, []testCase[*server]{{"archives, and what else only /v1 has", elseHTTP}})
	t.Run("G16 an upload that is too large", largeUpload)
}

// elseHTTP: what /v1 has and no tool.
func elseHTTP(s *server) {
	b := s.create()
	at := func(rest string, body string, method ...string) reply {
		s.t.Helper()
		r := s.do(append(method, "POST")[0], b.at(rest), strings.NewReader(body))
		if r.status >= 300 {
			s.t.Errorf("%v %s: %d %s", method, rest, r.status, r.body)
		}
		return r
	}
	at("", "", "GET")
	at("/files/mkdir", `{"path":"d/e"}`)
	at("/files?path=d/e/f&mode=755", "echo ran\n", "PUT")
	at("/files/move", `{"from":"d/e/f","to":"d/g"}`)
	if out := b.must("d/g; ls -R"); out != "ran\n.:\nd\n\n./d:\ne\ng\n\n./d/e:\n" {
		s.t.Errorf("after mkdir, PUT and move: %q", out)
	}
	s.do("DELETE", b.at("/files?path=d"), nil).is(s.t, "delete a full directory", 400, schemas.CodeInvalidRequest)
	packed := at("/archive?path=d", "", "GET").body
	at("/files?path=d&recursive=true", "", "DELETE")
	at("/archive?path=again", packed, "PUT")
	if out := b.must("again/g; ls"); out != "ran\nagain\n" {
		s.t.Errorf("after the archive: %q", out)
	}
	closed := s.do("GET", s.create(args{"image": base}).at("/archive?path=/etc"), nil)
	closed.is(s.t, "a directory with one that may not be read", 403, schemas.CodeForbidden)
	if !strings.Contains(closed.body, "the sandbox user may not") {
		s.t.Errorf("it does not say why: %.300s", closed.body)
	}
	snap := b.snapshot("x")
	r := s.do("GET", "/v1/snapshots/"+string(snap.ID)+"/archive", nil)
	if r.status != 200 || int64(len(r.body)) != snap.SizeBytes || r.err != nil {
		s.t.Errorf("download: %d, %d bytes of %d, %v", r.status, len(r.body), snap.SizeBytes, r.err)
	}
	r = s.do("POST", "/v1/snapshots?name=uploaded", strings.NewReader(r.body))
	var uploaded schemas.Snapshot
	if err := json.Unmarshal([]byte(r.body), &uploaded); err != nil || r.status != 201 || uploaded.Name != "uploaded" {
		s.t.Fatalf("upload: %d %s", r.status, r.body)
	}
	if out := s.fork(uploaded.ID).must("again/g"); out != "ran\n" {
		s.t.Errorf("a fork of what was uploaded: %q", out)
	}
}

// largeUpload: a tar that is too large is refused, and nothing of it is kept.
func largeUpload(t *testing.T) {
	s := startAt(t, client.REST, "--max-snapshot-bytes=5000000")
	flat(s, func() {
		r := s.do("POST", "/v1/snapshots", io.MultiReader(strings.NewReader(tarHeader("big", 1<<30)), io.LimitReader(rand.Reader, 1<<30)))
		r.is(t, "a large tar", 413, schemas.CodePayloadTooLarge)
	})
	s.do("POST", "/v1/snapshots", strings.NewReader("no tar at all")).is(t, "no tar", 400, schemas.CodeInvalidRequest)
	if all := s.snapshots(); len(all) != 0 {
		t.Errorf("kept: %+v", all)
	}
	if left, _ := filepath.Glob(s.dir + "/snapshots/*"); len(left) != 0 {
		t.Errorf("left in the data directory: %v", left)
	}
}

func tarHeader(name string, size int64) string {
	var b strings.Builder
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644})
	return b.String()
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// holds checks a file's bytes, by GET and as a command sees them.
func (b *sandbox) holds(name string, want []byte) {
	b.t.Helper()
	if r := b.do("GET", b.file(name), nil); r.status != 200 || r.body != string(want) || r.header.Get("Content-Type") != "application/octet-stream" {
		b.t.Errorf("GET %s: %d, %d bytes of %d, %v", name, r.status, len(r.body), len(want), r.header)
	}
	if out := b.must("wc -c < " + name); strings.TrimSpace(out) != itoa(len(want)) {
		b.t.Errorf("%s has %s bytes, want %d", name, out, len(want))
	}
}

func uploads(b *sandbox) {
	for i, n := range []int{0, 1, 64 << 10, 10 << 20} {
		content := random(n)
		for how, prepare := range map[string]func(*http.Request){
			"plain":    func(*http.Request) {},
			"chunked":  func(r *http.Request) { r.ContentLength, r.Body = -1, io.NopCloser(bytes.NewReader(content)) },
			"expected": func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		} {
			name := fmt.Sprint(how, i)
			req, err := b.Request(ctx(b.t), "PUT", b.file(name), bytes.NewReader(content))
			if err != nil {
				b.t.Fatal(err)
			}
			prepare(req)
			if r := b.send(req); r.status != 200 {
				b.t.Errorf("%s, %d bytes: %d %s", how, n, r.status, r.body)
			}
			b.holds(name, content)
		}
	}
}

func contentTypes(b *sandbox) {
	content := "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb=c&d=%20{\"json\":1}\r\n--x--\r\n"
	for _, kind := range []string{"text/plain; charset=utf-16", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/json", ""} {
		if r := b.do("PUT", b.file("typed"), strings.NewReader(content), "Content-Type", kind); r.status != 200 {
			b.t.Errorf("%s: %d %s", kind, r.status, r.body)
		}
		b.holds("typed", []byte(content))
		b.must("rm typed")
	}
	r := b.do("GET", b.file("typed"), nil)
	r.is(b.t, "a file that is not there", 404, schemas.CodeNotFound)
	if kind := r.header.Get("Content-Type"); kind != "application/json" {
		b.t.Errorf("a file that is not there is %s", kind)
	}
}

// shrinkingFile: an answer that cannot keep its promised length breaks the
// connection; what is read next on a connection is never the rest of it.
func shrinkingFile(b *sandbox) {
	const size = 40 << 20
	b.write("other", "the other file\n")
	loop, cancel := context.WithCancel(ctx(b.t))
	wait := inBackground(func() {
		b.shContext(loop, fmt.Sprintf("while :; do truncate -s %d f; sleep 0.05; truncate -s 0 f; done", size), args{"timeout_seconds": 100})
	})
	defer wait()
	defer cancel()
	short := 0
	for range count(10, 100) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
		if err != nil {
			b.t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		from := bufio.NewReader(conn)
		get := func(name string) (*http.Response, error) {
			req, _ := b.Request(ctx(b.t), "GET", b.file(name), nil)
			if err := req.Write(conn); err != nil {
				return nil, err
			}
			return http.ReadResponse(from, req)
		}
		resp, err := get("f")
		if err != nil || resp.StatusCode >= 500 {
			b.t.Fatalf("GET f: %v, %v", resp, err)
		}
		got, err := io.Copy(io.Discard, resp.Body)
		if err != nil {
			short++
		} else if resp.StatusCode == 200 && got != resp.ContentLength {
			b.t.Errorf("GET f: %d bytes of %d, and no failure", got, resp.ContentLength)
		}
		resp, nextErr := get("other")
		if nextErr == nil {
			text, _ := io.ReadAll(resp.Body)
			if err != nil || string(text) != "the other file\n" {
				b.t.Errorf("after %v the next answer on the connection is %d %.100q", err, resp.StatusCode, text)
			}
		} else if err == nil {
			b.t.Errorf("after a whole file: %v", nextErr)
		}
		conn.Close()
	}
	b.t.Logf("%d transfers failed visibly", short)
}

func partOfEnormousFile(b *sandbox) {
	b.must("truncate -s 20G big")
	b.do("GET", b.file("big"), nil).is(b.t, "the whole", 413, schemas.CodePayloadTooLarge)
	flat(b.server, func() {
		repeat(b.t, count(10, 50), 10, func(int) error {
			c, cancel := context.WithCancel(ctx(b.t))
			defer cancel()
			req, err := b.Request(c, "GET", b.file("big"), nil)
			if err != nil {
				return err
			}
			req.Header.Set("Range", "bytes=10000000000-")
			resp, err := b.HTTP.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if n, err := io.CopyN(io.Discard, resp.Body, 1<<20); resp.StatusCode != 206 || err != nil {
				return fmt.Errorf("%d, %d bytes, %w", resp.StatusCode, n, err)
			}
			return nil // hangs up
		})
	})
	b.must("rm big")
	b.alive()
}

// beginUpload sends three tenths of a large file.
func (b *sandbox) beginUpload() net.Conn {
	b.t.Helper()
	const size = 40 << 20
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
	if err != nil {
		b.t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n", b.file("dir/f"), aliceKey, size)
	if _, err := conn.Write(random(size * 3 / 10)); err != nil {
		b.t.Error(err)
	}
	return conn
}

// untouched: the old content is there, and nothing else.
func (b *sandbox) untouched() {
	b.t.Helper()
	eventually(b.t, 10*time.Second, "the old file is all that is there", func() (bool, any) {
		r, err := b.trySh("cat dir/f; ls -A dir")
		return r.Stdout == "old content\nf\n", fmt.Sprintf("%.200q %v", r.Stdout, err)
	})
}

func cutUpload(b *sandbox) {
	b.write("dir/f", "old content\n")
	for range count(3, 20) {
		b.beginUpload().Close()
		b.untouched()
	}
}

func serverDiesDuringUpload(b *sandbox) {
	b.write("dir/f", "old content\n")
	conn := b.beginUpload()
	defer conn.Close()
	b.restart()
	b.untouched()
}
