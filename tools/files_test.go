package tools

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
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
		"":                 "/workspace/d/f: 0 bytes of 0\n",
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

func TestE5HugeFileIsRefusedUnread(t *testing.T) {
	b := newBench(t)
	b.srv = newServer(hugeFile{}, "test", quiet())
	for _, tool := range []string{"read_file", "edit_file"} {
		a := args{"sandbox_id": "sb_0123456789abcdef", "path": "big"}
		if tool == "edit_file" {
			a["old_text"], a["new_text"] = "a", "b"
		}
		r := b.call(tool, a)
		if text := r.text(); !r.IsError || !strings.HasPrefix(text, "payload_too_large: /workspace/big has ") || !strings.Contains(text, "the limit is 1000") {
			t.Errorf("%s: %q", tool, text)
		}
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
