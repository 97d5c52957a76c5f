package tools

import (
	"bufio"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestD6TextIsTextWhereverTheSampleEnds(t *testing.T) {
	for _, offset := range []int{512, 1000, 1024, 4096, 8192, 65536} {
		for back := 1; back <= 2; back++ {
			file := []byte(strings.Repeat("a", offset-back) + "日本" + strings.Repeat("b", offset))
			if !isText(file[:offset], false) {
				t.Errorf("sample of %d bytes that ends inside a character is called binary", offset)
			}
		}
	}
	for name, c := range map[string]struct {
		sample string
		whole  bool
		want   bool
	}{
		"empty":                      {"", true, true},
		"BOM":                        {"\xef\xbb\xbfhello", true, true},
		"control characters":         {"\x1b[31mred\x1b[0m\a\b", true, true},
		"NUL":                        {"a\x00b", true, false},
		"UTF-16":                     {"\xff\xfeh\x00i\x00", true, false},
		"Latin-1":                    {"caf\xe9 au lait", true, false},
		"ends inside a character":    {"caf\xc3", true, false},
		"a sample may":               {"caf\xc3", false, true},
		"invalid before its end":     {"\xc3 caf\xc3", false, false},
		"lone continuation at end":   {"caf\xa9", false, false},
		"UTF-8 encoded surrogate":    {"\xed\xa0\x80", true, false},
		"four bytes cut after three": {"\xf0\x9f\x98", false, true},
	} {
		if got := isText([]byte(c.sample), c.whole); got != c.want {
			t.Errorf("%s: text is %v", name, got)
		}
	}
}

func readPage(t rapid.TB, file string, offset, limit int64) schemas.FileContent {
	r := bufio.NewReaderSize(strings.NewReader(file), 16)
	p, err := readText(r, schemas.FileInfo{Size: int64(len(file))}, true, offset, limit)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Following next_offset gives the whole file, whatever its lines.
func TestPagesJoinToTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.StringMatching(`[a-zé"\n]{0,40}\r?\n?`), rapid.Just(strings.Repeat("x\t", 5000)+"\n"))
		file := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), "")
		limit := rapid.Int64Range(1, 20).Draw(t, "limit")
		var whole strings.Builder
		for offset := int64(0); ; {
			p := readPage(t, file, offset, limit)
			whole.WriteString(p.Content)
			if p.NextOffset == nil {
				if p.TotalLines == nil || *p.TotalLines != offset+*p.Lines {
					t.Fatalf("total %v after %d", p.TotalLines, offset+*p.Lines)
				}
				break
			}
			if *p.NextOffset <= offset {
				t.Fatalf("stuck at %d", offset)
			}
			offset = *p.NextOffset
		}
		if whole.String() != file {
			t.Fatalf("got %q, want %q", whole.String(), file)
		}
	})
}

func TestLineLongerThanAPageIsCut(t *testing.T) {
	file := "a\n" + strings.Repeat("é", 1<<20) + "\nb\n"
	if p := readPage(t, file, 0, maxOffset); p.Content != "a\n" || *p.NextOffset != 1 || p.CutLine {
		t.Errorf("first page: %d bytes, %+v", len(p.Content), p.NextOffset)
	}
	p := readPage(t, file, 1, maxOffset)
	if !p.CutLine || !p.Truncated || *p.Lines != 1 || *p.NextOffset != 2 || strings.Trim(p.Content, "é") != "" || p.CutAt != int64(len(p.Content)/2) {
		t.Errorf("second page: %d lines, next %v, %d bytes", *p.Lines, p.NextOffset, len(p.Content))
	}
	if text := pageText(p); !strings.Contains(text, ", lines 2 to 2; line 2 is too long and was cut after 11500 characters, use exec") {
		t.Errorf("header is %.200q", text)
	}
	if p := readPage(t, file, 2, maxOffset); p.Content != "b\n" || p.NextOffset != nil || p.Truncated {
		t.Errorf("third page: %q", p.Content)
	}
	if p := readPage(t, file, 99, maxOffset); p.Content != "" || *p.TotalLines != 3 || p.NextOffset != nil {
		t.Errorf("past the end: %+v", p)
	}
}
