package tools

import (
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, content, old, new string
		all                     bool
		want                    string
		n                       int
	}{
		{"once", "a b c", "b", "x", false, "a x c", 1},
		{"delete", "a b c", " b", "", false, "a c", 1},
		{"all", "a\na\na", "a", "bb", true, "bb\nbb\nbb", 3},
		{"no line end at the end", "a\nb", "b", "b\n", false, "a\nb\n", 1},
		{"CRLF from LF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", 1},
		{"CRLF as it is", "a\r\nb\r\n", "a\r\n", "x\r\n", false, "x\r\nb\r\n", 1},
		{"bytes that are not text", "\xff\x00a\xfe", "a", "é", false, "\xff\x00é\xfe", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := schemas.EditFileArgs{OldText: c.old, NewText: c.new, ReplaceAll: c.all}
			got, n, err := replace([]byte(c.content), in, 1000)
			if err != nil || string(got) != c.want || n != c.n {
				t.Errorf("got %q, %d, %v", got, n, err)
			}
		})
	}
}

func TestReplaceSaysWhyNot(t *testing.T) {
	many := strings.Repeat("x\n", 100)
	for _, c := range []struct {
		name, content, old, new string
		all                     bool
		kind                    manager.Kind
		message, hint           string
	}{
		{"none", "a", "b", "c", false, manager.KindInvalid, "old_text: was not found in f; nothing was changed", "Read the file and copy the text exactly, with its indentation."},
		{"other indentation", "\tif x {\n", "    if x {", "c", false, manager.KindInvalid, "old_text: was not found in f; nothing was changed", "It is there with other whitespace at its start or end. Read"},
		{"two", "a\nb\na\n", "a", "c", false, manager.KindInvalid, "old_text: occurs 2 times, at lines 1, 3; nothing was changed", "Add lines around"},
		{"many", many, "x\n", "c", false, manager.KindInvalid, "old_text: occurs 100 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …; nothing was changed", "Add lines around"},
		{"over several lines", "q\na\nb\na\nb\n", "a\nb", "c", false, manager.KindInvalid, "old_text: occurs 2 times, at lines 2, 4; nothing was changed", "Add"},
		{"grows too large", many, "x\n", strings.Repeat("y", 100), true, manager.KindTooLarge, "f has 10000 bytes; the limit is 1000", "Work on it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := schemas.EditFileArgs{Path: "f", OldText: c.old, NewText: c.new, ReplaceAll: c.all}
			_, _, err := replace([]byte(c.content), in, 1000)
			e, ok := err.(*manager.Error)
			if !ok || e.Kind != c.kind || e.Message != c.message || !strings.HasPrefix(e.Hint, c.hint) {
				t.Errorf("got %v", err)
			}
		})
	}
}
