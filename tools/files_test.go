package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestD6FilesAreReadAsTheyAre(t *testing.T) {
	b := newBench(t)
	id := b.create()
	write := func(content string) {
		t.Helper()
		r := b.call("write_file", args{"sandbox_id": id, "path": "d/f", "content_base64": base64.StdEncoding.EncodeToString([]byte(content))})
		if r.IsError {
			t.Fatal(r.text())
		}
	}
	read := func(a args) (p schemas.FileContent, text string) {
		t.Helper()
		a["sandbox_id"], a["path"] = id, "d/f"
		r := b.call("read_file", a)
		r.into(t, &p)
		return p, r.text()
	}
	for _, n := range []int{512, 1000, 1024, 4096, 8192, 65536} {
		line := strings.Repeat("a", 99) + "\n"
		content := strings.Repeat(line, n)[:n-1] + "日本\n"
		write(content)
		var joined string
		for offset := int64(0); ; {
			p, text := read(args{"offset": offset})
			if p.Encoding != schemas.EncodingUTF8 || !strings.HasSuffix(text, p.Content) {
				t.Fatalf("at %d: %s", n, p.Encoding)
			}
			joined += p.Content
			if p.NextOffset == nil {
				break
			}
			offset = *p.NextOffset
		}
		if joined != content {
			t.Errorf("at %d: %d bytes came back of %d", n, len(joined), len(content))
		}
	}
	for content, want := range map[string]string{
		"":                 "/workspace/d/f: empty file",
		"\ufeffhi\n":       "/workspace/d/f: 6 bytes, lines 1 to 1 of 1\n\ufeffhi\n",
		"a\r\nb\r\n\r\nno": "/workspace/d/f: 10 bytes, lines 1 to 4 of 4\na\r\nb\r\n\r\nno",
	} {
		write(content)
		if p, text := read(args{}); text != want || p.Content != content {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

func TestD2BinaryIsBase64AndSaysSo(t *testing.T) {
	b := newBench(t)
	id := b.create()
	content := make([]byte, 100_000)
	for i := range content {
		content[i] = byte(i * 7)
	}
	b.call("write_file", args{"sandbox_id": id, "path": "bin", "content_base64": base64.StdEncoding.EncodeToString(content)})
	var joined []byte
	for offset := int64(0); ; {
		r := b.call("read_file", args{"sandbox_id": id, "path": "bin", "offset": offset})
		var p schemas.FileContent
		r.into(t, &p)
		raw, err := base64.StdEncoding.DecodeString(p.Content)
		if err != nil || p.Encoding != schemas.EncodingBase64 || !strings.Contains(r.text(), "binary, as base64") || p.SizeBytes != 100_000 {
			t.Fatalf("%v, %s, %.80q", err, p.Encoding, r.text())
		}
		joined = append(joined, raw...)
		if p.NextOffset == nil {
			break
		}
		offset = *p.NextOffset
	}
	if !bytes.Equal(joined, content) {
		t.Error("the pages do not join to the file")
	}
}

func TestImageIsAnImage(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(picture.Bytes())
	b.call("write_file", args{"sandbox_id": id, "path": "misnamed.txt", "content_base64": data})
	r := b.call("read_file", args{"sandbox_id": id, "path": "misnamed.txt"})
	if r.StructuredContent != nil {
		t.Error("structured content, for which Claude Code drops the image")
	}
	if len(r.Content) != 2 || r.Content[1].Type != "image" || r.Content[1].MimeType != "image/png" || r.Content[1].Data != data {
		t.Errorf("got %+v", r.Content)
	}
	var p schemas.FileContent
	b.call("read_file", args{"sandbox_id": id, "path": "misnamed.txt", "encoding": "base64"}).into(t, &p)
	if p.Content != data {
		t.Error("base64 was asked for, and not given")
	}
}

// A file over the limit is paged as far as the limit, and never read further.
func TestE5HugeFileIsReadInPart(t *testing.T) {
	b := newBench(t)
	b.srv = newServer(hugeFile{}, "test", quiet())
	a := args{"sandbox_id": "sb_0123456789abcdef", "path": "big"}
	var p schemas.FileContent
	a["limit"] = 10
	b.call("read_file", a).into(t, &p)
	if p.Content != strings.Repeat("012345678\n", 10) || *p.NextOffset != 10 || p.TotalLines != nil || !p.Truncated {
		t.Errorf("got %+v", p)
	}
	for _, offset := range []int{95, 99, 100, 1 << 30} {
		a["offset"] = offset
		r := b.call("read_file", a)
		want := fmt.Sprintf("payload_too_large: the page at offset %d goes beyond the first 1000 bytes of /workspace/big, which has %d; no more can be paged through\nHint: Use exec: sed -n '%d,", offset, 20<<30, offset+1)
		if text := r.text(); !r.IsError || !strings.HasPrefix(text, want) {
			t.Errorf("at %d: %q", offset, text)
		}
	}
	r := b.call("edit_file", args{"sandbox_id": "sb_0123456789abcdef", "path": "big", "old_text": "a", "new_text": "b"})
	if text := r.text(); !r.IsError || !strings.HasPrefix(text, "payload_too_large: /workspace/big has ") || !strings.Contains(text, "the limit is 1000\nHint: Work on it inside the sandbox with exec") {
		t.Errorf("edit_file: %q", text)
	}
}

// The same on a real manager, which refuses to hand out such a file whole.
func TestBigFileOnAManager(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.sh(id, "yes 123456789 | head -c 60000000 > big")
	var p schemas.FileContent
	b.call("read_file", args{"sandbox_id": id, "path": "big", "offset": 0, "limit": 10}).into(t, &p)
	if p.Content != strings.Repeat("123456789\n", 10) || *p.NextOffset != 10 || p.SizeBytes != 60_000_000 {
		t.Errorf("got %+v", p)
	}
	b.call("read_file", args{"sandbox_id": id, "path": "big", "offset": 5_000_000, "limit": 1}).into(t, &p)
	if p.Content != "123456789\n" || *p.NextOffset != 5_000_001 {
		t.Errorf("got %+v", p)
	}
	if text := b.call("edit_file", args{"sandbox_id": id, "path": "big", "old_text": "a", "new_text": "b"}).text(); !strings.Contains(text, "with exec") {
		t.Errorf("edit_file: %q", text)
	}
}

// F11: a name that is not UTF-8 is reached by its exact bytes.
func TestF11PathBase64(t *testing.T) {
	b := newBench(t)
	id := b.create()
	name := "odd-\xff"
	encoded := base64.StdEncoding.EncodeToString([]byte(name))
	b.call("write_file", args{"sandbox_id": id, "path_base64": encoded, "content": "one\n"})
	b.call("edit_file", args{"sandbox_id": id, "path_base64": encoded, "old_text": "one", "new_text": "two"})
	if text := b.call("read_file", args{"sandbox_id": id, "path_base64": encoded}).text(); !strings.Contains(text, "two") {
		t.Errorf("read %q", text)
	}
	for field, a := range map[string]args{
		"path":        {"sandbox_id": id},
		"path_base64": {"sandbox_id": id, "path_base64": "%"},
	} {
		if r := b.call("read_file", a); !r.IsError || !strings.Contains(r.text(), field) {
			t.Errorf("%v: got %q", a, r.text())
		}
	}
	if r := b.call("read_file", args{"sandbox_id": id, "path": "a", "path_base64": encoded}); !r.IsError {
		t.Error("both were taken")
	}
}

func TestReadPastTheEnd(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.call("write_file", args{"sandbox_id": id, "path": "f", "content": "a\nb\nc\n"})
	b.call("write_file", args{"sandbox_id": id, "path": "one", "content": "a"})
	b.call("write_file", args{"sandbox_id": id, "path": "empty", "content": ""})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "empty"}, "/workspace/empty: empty file"},
		{args{"path": "empty", "encoding": "base64"}, "/workspace/empty: empty file"},
		{args{"path": "empty", "offset": 3}, "/workspace/empty: empty file"},
		{args{"path": "f", "offset": 3}, "/workspace/f: offset 3 is past the end: the file has 3 lines"},
		{args{"path": "f", "offset": 99}, "/workspace/f: offset 99 is past the end: the file has 3 lines"},
		{args{"path": "one", "offset": 1}, "/workspace/one: offset 1 is past the end: the file has 1 line"},
		{args{"path": "f", "offset": 99, "encoding": "base64"}, "/workspace/f: offset 99 is past the end: the file has 6 bytes"},
	} {
		c.args["sandbox_id"] = id
		if text := b.call("read_file", c.args).text(); text != c.want {
			t.Errorf("%v: got %q, want %q", c.args, text, c.want)
		}
	}
}

func TestFilesListedInText(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.sh(id, "mkdir d; printf abc > d/f; chmod 640 d/f; mkdir d/sub; ln -s f d/l")
	b.call("write_file", args{"sandbox_id": id, "path": "d/a\nb", "content": "x", "mode": "7"})
	text := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(b.call("list_files", args{"sandbox_id": id, "path": "d"}).text(), "TIME")
	if want := "entries in /workspace/d: 4\n7 1 TIME \"a\\nb\"\n640 3 TIME f\n777 - TIME l -> f\n755 - TIME sub/"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// The pattern of mode lets through what the manager takes, and nothing else.
func TestModePatternIsTheManagers(t *testing.T) {
	var schema struct {
		Properties map[string]struct{ Pattern string }
	}
	for _, tool := range all {
		if tool.Name == "write_file" {
			if err := json.Unmarshal(tool.rendered(standard()).RawInputSchema, &schema); err != nil {
				t.Fatal(err)
			}
		}
	}
	pattern := regexp.MustCompile(schema.Properties["mode"].Pattern)
	b := newBench(t)
	id := b.create()
	for mode, good := range map[string]bool{
		"755": true, "0755": true, "75": true, "0": true, "4755": false, "01755": false, "00755": false, "0000": true, "888": false, "+7": false, "rwx": false, "7_7": false,
	} {
		r := b.call("write_file", args{"sandbox_id": id, "path": "f", "content": "", "mode": mode})
		if pattern.MatchString(mode) != good || r.IsError == good {
			t.Errorf("mode %s: pattern says %v; %s", mode, pattern.MatchString(mode), r.text())
		}
	}
	if r := b.call("write_file", args{"sandbox_id": id, "path": "f", "content": "x"}); r.text() != "wrote /workspace/f, 1 byte" {
		t.Errorf("got %q", r.text())
	}
}

func TestWriteAndEdit(t *testing.T) {
	b := newBench(t)
	id := b.create()
	r := b.call("write_file", args{"sandbox_id": id, "path": "a.sh", "content": "one\r\ntwo\r\n", "mode": "755"})
	if r.text() != "wrote /workspace/a.sh, 10 bytes" {
		t.Errorf("got %q", r.text())
	}
	var e schemas.Edited
	r = b.call("edit_file", args{"sandbox_id": id, "path": "/workspace/a.sh", "old_text": "one\ntwo", "new_text": "1\n2\n3"})
	r.into(t, &e)
	if e.File.Mode != "755" || e.Replacements != 1 || r.text() != "replaced 1 in /workspace/a.sh, now 9 bytes" {
		t.Errorf("got %+v, %q", e, r.text())
	}
	var p schemas.FileContent
	b.call("read_file", args{"sandbox_id": id, "path": "a.sh", "offset": 1, "limit": 1}).into(t, &p)
	if p.Content != "2\r\n" || *p.NextOffset != 2 || *p.TotalLines != 3 {
		t.Errorf("got %+v", p)
	}
}

// Edits that a model sends at once are all done.
func TestParallelEditsDoNotUndoEachOther(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var content strings.Builder
	for i := range 20 {
		fmt.Fprintf(&content, "<%d>\n", i)
	}
	b.call("write_file", args{"sandbox_id": id, "path": "f", "content": content.String()})
	var wg sync.WaitGroup
	for i := range 20 {
		path := []string{"f", "./f", "/workspace/f", "/workspace//d/../f"}[i%4]
		wg.Go(func() {
			b.call("edit_file", args{"sandbox_id": id, "path": path, "old_text": fmt.Sprintf("<%d>", i), "new_text": "done"})
		})
	}
	wg.Wait()
	var p schemas.FileContent
	b.call("read_file", args{"sandbox_id": id, "path": "f"}).into(t, &p)
	if p.Content != strings.Repeat("done\n", 20) {
		t.Errorf("got %q", p.Content)
	}
}

func TestN9ListsAreBounded(t *testing.T) {
	b := newBench(t)
	b.srv = newServer(manyFiles{}, "test", quiet())
	for _, c := range []args{{}, {"limit": 1000}} {
		c["sandbox_id"] = "sb_0123456789abcdef"
		seen, cursor := 0, ""
		for page := 0; page < 3; page++ {
			c["cursor"] = cursor
			r := b.call("list_files", c)
			var l schemas.FileList
			r.into(t, &l)
			if chars := jsonLen(r.text()) + len(mustJSON(l)); chars > 50_000 || len(l.Entries) == 0 {
				t.Fatalf("%v: %d characters for %d entries", c, chars, len(l.Entries))
			}
			if l.Entries[0].Name != fileNumber(seen) {
				t.Fatalf("page %d starts with %q, want number %d", page, l.Entries[0].Name, seen)
			}
			seen += len(l.Entries)
			if cursor = l.NextCursor; !strings.HasSuffix(r.text(), "There are more: pass cursor \""+cursor+"\".") {
				t.Errorf("text does not tell of more: %q", r.text()[len(r.text())-80:])
			}
		}
	}
}
