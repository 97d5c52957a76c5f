package manager_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (s *server) put(id schemas.SandboxID, path, content string) error {
	_, err := s.WriteFile(s.t.Context(), owner, id, path, "", strings.NewReader(content))
	return err
}

func (s *server) get(id schemas.SandboxID, path string) (string, error) {
	_, body, err := s.ReadFile(s.t.Context(), owner, id, path, 0, -1)
	if err != nil {
		return "", err
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	return string(b), err
}

// Paths that no write may have. F1, F3, F7, F18.
var badWrites = map[string]string{
	"F1 sibling":            "/workspace-evil/x",
	"F1 prefix":             "/workspacefoo",
	"F1 look-alike slash":   "/workspace\u2215x",
	"F1 relative":           "workspace/../../x",
	"F3 dots":               "/workspace/../etc/passwd",
	"F3 dots in the middle": "/workspace/a/../../etc/passwd",
	"F3 double slash":       "/workspace//../etc",
	"F3 NUL":                "a\x00b",
	"F3 empty":              "",
	"F3 root":               "/",
	"F3 proc":               "/proc/self/environ",
	"F3 above":              "..",
	"workspace":             "/workspace",
	"workspace by dots":     "a/..",
	"here":                  ".",
	"F18 name":              strings.Repeat("a", 256),
	"F18 path":              strings.Repeat("a/", 2500),
}

func TestF3WritesStayInside(t *testing.T) {
	s := start(t)
	id := s.create().ID
	for name, path := range badWrites {
		t.Run(name, func(t *testing.T) {
			wantKind(t, s.put(id, path, "x"), manager.KindInvalid)
			wantKind(t, s.DeleteFile(t.Context(), owner, id, path, true), manager.KindInvalid)
			_, err := s.MoveFile(t.Context(), owner, id, path, "b")
			wantKind(t, err, manager.KindInvalid)
			_, err = s.MoveFile(t.Context(), owner, id, "b", path)
			wantKind(t, err, manager.KindInvalid)
		})
	}
	_, err := s.Mkdir(t.Context(), owner, id, "/tmp/x")
	wantInvalid(t, err, "/tmp/x")
	wantInvalid(t, s.WriteArchive(t.Context(), owner, id, "/etc", strings.NewReader("")), "/etc")
	wantInvalid(t, s.put(id, "dir/", "x"), "dir/")
	for _, op := range []backendtest.Op{backendtest.OpWrite, backendtest.OpDelete, backendtest.OpMove, backendtest.OpMkdir, backendtest.OpUnpack} {
		if n := s.fake.Calls(op); n != 0 {
			t.Errorf("%s was called %d times", op, n)
		}
	}
}

func TestF2LegalNames(t *testing.T) {
	s := start(t)
	id := s.create().ID
	names := []string{
		"/workspace/..config/a", "/workspace/...", "/workspace/a..b", "/workspace/.hidden", "/workspace/ lead", "/workspace/trail ",
		"rel", "./dot", "deep/../flat", "/workspace//double", "F12 $(touch PWN)", "-rf", "a\nb", strings.Repeat("n", 255), "%2e%2e%2f", `..\x`,
	}
	for _, name := range names {
		if err := s.put(id, name, name); err != nil {
			t.Errorf("put %q: %v", name, err)
		}
		if got, err := s.get(id, name); err != nil || got != name {
			t.Errorf("get %q: %q, %v", name, got, err)
		}
	}
}

func TestReadsMayNameAnyPath(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.mustSh(id, "echo t > /tmp/f")
	if got, err := s.get(id, "/workspace/../tmp/f"); err != nil || got != "t\n" {
		t.Errorf("%q, %v", got, err)
	}
	for name, path := range map[string]string{"NUL": "a\x00", "empty": "", "long": strings.Repeat("a", 256)} {
		t.Run(name, func(t *testing.T) {
			_, err := s.get(id, path)
			wantInvalid(t, err, "path")
			_, err = s.StatFile(t.Context(), owner, id, path)
			wantInvalid(t, err, "path")
			_, err = s.ListFiles(t.Context(), owner, id, path, schemas.Page{})
			wantInvalid(t, err, "path")
		})
	}
	_, err := s.get(id, "missing")
	wantKind(t, err, manager.KindNotFound)
}

func TestWriteFileMode(t *testing.T) {
	s := start(t)
	id := s.create().ID
	for mode, want := range map[string]string{"": "644", "755": "755", "0600": "600", "0": "0", "777": "777"} {
		info, err := s.WriteFile(t.Context(), owner, id, "m"+mode, mode, strings.NewReader("x"))
		if err != nil || info.Mode != want || info.Type != schemas.TypeFile || info.Size != 1 || info.Path != "/workspace/m"+mode {
			t.Errorf("mode %q: %+v, %v", mode, info, err)
		}
	}
	for _, mode := range []string{"888", "1777", "-1", "rwx", "0o644", " 644", "9999999999999"} {
		_, err := s.WriteFile(t.Context(), owner, id, "x", mode, strings.NewReader(""))
		wantInvalid(t, err, mode)
	}
}

func TestFileLimits(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxFileBytes = 100 })
	id := s.create().ID
	if err := s.put(id, "f", strings.Repeat("x", 100)); err != nil {
		t.Fatal(err)
	}
	if e := wantKind(t, s.put(id, "f", strings.Repeat("y", 101)), manager.KindTooLarge); !strings.HasPrefix(e.Message, "the content is larger than 100 bytes") {
		t.Errorf("the limit is not named: %s", e.Message)
	}
	if got, err := s.get(id, "f"); err != nil || got != strings.Repeat("x", 100) {
		t.Errorf("after a failed write: %q, %v", got, err)
	}
	// E5: a large file is not read whole, but a part of it is.
	s.mustSh(id, "head -c 5000 /dev/zero > big")
	_, err := s.get(id, "big")
	if e := wantKind(t, err, manager.KindTooLarge); !strings.Contains(e.Message, "5000") || !strings.Contains(e.Message, "100") {
		t.Errorf("message names not both: %s", e.Message)
	}
	info, body, err := s.ReadFile(t.Context(), owner, id, "big", 4990, 200)
	if err != nil || info.Size != 5000 {
		t.Fatalf("%+v, %v", info, err)
	}
	defer body.Close()
	if b, err := io.ReadAll(body); err != nil || len(b) != 10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	_, _, err = s.ReadFile(t.Context(), owner, id, "big", -1, 1)
	wantInvalid(t, err, "offset")
}

// D9: nothing of a longer file before stays.
func TestD9Overwrite(t *testing.T) {
	s := start(t)
	id := s.create().ID
	for _, n := range []int{100000, 10, 0} {
		if err := s.put(id, "f", strings.Repeat("x", n)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.get(id, "f"); err != nil || len(got) != n {
			t.Errorf("%d bytes, %v; want %d", len(got), err, n)
		}
	}
}

// F11, E6: names are bytes; pages are complete.
func TestF11ListFiles(t *testing.T) {
	s := start(t)
	id := s.create().ID
	odd := "caf\xe9"
	names := []string{"\ttab", "*", "-dash", "a\nb", "emoji\U0001F600", odd, "z"}
	for _, n := range names {
		if err := s.put(id, n, "x"); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for page := (schemas.Page{Limit: 2}); ; {
		list, err := s.ListFiles(t.Context(), owner, id, ".", page)
		if err != nil || len(list.Entries) > 2 || list.Path != "/workspace" {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, e := range list.Entries {
			got = append(got, exact(t, e.Name, e.NameBase64))
			if path := exact(t, e.Path, e.PathBase64); path != "/workspace/"+got[len(got)-1] {
				t.Errorf("path is %q", path)
			}
		}
		if page.Cursor = list.NextCursor; page.Cursor == "" {
			break
		}
	}
	if strings.Join(got, "|") != strings.Join([]string{"\ttab", "*", "-dash", "a\nb", odd, "emoji\U0001F600", "z"}, "|") {
		t.Errorf("names are %q", got)
	}
	if content, err := s.get(id, odd); err != nil || content != "x" {
		t.Errorf("%q, %v", content, err)
	}
	for _, p := range []schemas.Page{{Limit: -1}, {Limit: 1 << 30}, {Cursor: "!"}} {
		if _, err := s.ListFiles(t.Context(), owner, id, ".", p); manager.KindOf(err) != manager.KindInvalid {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// exact is the bytes of a name, and checks that base64 is there when needed only.
func exact(t *testing.T, text, encoded string) string {
	t.Helper()
	if encoded == "" {
		return text
	}
	if !strings.Contains(text, "\uFFFD") {
		t.Errorf("%q has base64 beside it", text)
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMoveMkdirDelete(t *testing.T) {
	s := start(t)
	id := s.create().ID
	if info, err := s.Mkdir(t.Context(), owner, id, "a/b"); err != nil || info.Type != schemas.TypeDirectory {
		t.Fatalf("%+v, %v", info, err)
	}
	if err := s.put(id, "a/b/f", "x"); err != nil {
		t.Fatal(err)
	}
	_, err := s.MoveFile(t.Context(), owner, id, "a", "a/b/c")
	wantInvalid(t, err, "itself")
	if info, err := s.MoveFile(t.Context(), owner, id, "a/b", "c"); err != nil || info.Path != "/workspace/c" {
		t.Errorf("%+v, %v", info, err)
	}
	if err := s.DeleteFile(t.Context(), owner, id, "c", true); err != nil {
		t.Error(err)
	}
	_, err = s.StatFile(t.Context(), owner, id, "c/f")
	wantKind(t, err, manager.KindNotFound)
}

func TestArchive(t *testing.T) {
	s := start(t)
	id := s.create().ID
	if err := s.put(id, "d/f", "content"); err != nil {
		t.Fatal(err)
	}
	var tar bytes.Buffer
	if err := s.ReadArchive(t.Context(), owner, id, "d", &tar); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteArchive(t.Context(), owner, id, "copy", &tar); err != nil {
		t.Fatal(err)
	}
	if got, err := s.get(id, "copy/f"); err != nil || got != "content" {
		t.Errorf("%q, %v", got, err)
	}
}

// A read under which the connection breaks is made once more; a write is not.
func TestLostCallsAreRepeatedOnlyWhenHarmless(t *testing.T) {
	s := start(t)
	id := s.create().ID
	lost := backendtest.Fault{Times: 1, After: &manager.Error{Kind: manager.KindLost, Message: "lost"}}
	s.put(id, "f", "x")
	for _, op := range []backendtest.Op{backendtest.OpRead, backendtest.OpStat, backendtest.OpListFiles, backendtest.OpWrite} {
		s.fake.Inject(op, lost)
	}
	if got, err := s.get(id, "f"); err != nil || got != "x" {
		t.Errorf("read: %q, %v", got, err)
	}
	if _, err := s.StatFile(t.Context(), owner, id, "f"); err != nil {
		t.Errorf("stat: %v", err)
	}
	if _, err := s.ListFiles(t.Context(), owner, id, ".", schemas.Page{}); err != nil {
		t.Errorf("list: %v", err)
	}
	before := s.fake.Calls(backendtest.OpWrite)
	wantKind(t, s.put(id, "f", "y"), manager.KindBackend)
	if n := s.fake.Calls(backendtest.OpWrite) - before; n != 1 {
		t.Errorf("written %d times", n)
	}
}

// A file's content that is on its way out keeps destroy waiting no longer than
// it must, and ends with the reason.
func TestReadEndsWithTheSandbox(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.put(id, "f", strings.Repeat("x", 1<<20))
	_, body, err := s.ReadFile(t.Context(), owner, id, "f", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Destroy(t.Context(), owner, id) }()
	eventually(t, "gone", func() bool {
		_, err := s.Get(t.Context(), owner, id)
		return manager.KindOf(err) == manager.KindNotFound
	})
	io.Copy(io.Discard, body) // what was read ahead may come; the end is checked by the fake's own tests
	body.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A path that ends in / is a directory's, and a file that was to go into that
// directory does not take its name.
func TestF23MoveToADirectorysName(t *testing.T) {
	s := start(t)
	id := s.create().ID
	for _, path := range []string{"f", "d/g"} {
		if err := s.put(id, path, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{{"f", "new/"}, {"f/", "h"}, {"f/", "h/"}} {
		_, err := s.MoveFile(t.Context(), owner, id, c[0], c[1])
		wantInvalid(t, err, "ends in /")
	}
	if info, err := s.MoveFile(t.Context(), owner, id, "d/", "e/"); err != nil || info.Path != "/workspace/e" {
		t.Errorf("a directory: %+v, %v", info, err)
	}
	_, err := s.MoveFile(t.Context(), owner, id, "nowhere", "e/")
	wantKind(t, err, manager.KindNotFound)
}
