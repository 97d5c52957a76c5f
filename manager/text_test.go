package manager_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

func TestTextDecoder(t *testing.T) {
	cases := map[string]struct {
		chunks []string
		want   string
	}{
		"D1 one byte at a time": {[]string{"\xf0", "\x9f", "\x98", "\x80"}, "\U0001F600"},
		"D1 split in a text":    {[]string{"a\xe2\x82", "\xacb"}, "a€b"},
		"D4 NUL":                {[]string{"a\x00b"}, "a\x00b"},
		"invalid byte":          {[]string{"a\xffb"}, "a\uFFFDb"},
		"each invalid byte":     {[]string{"\xff\xfe\x80"}, "\uFFFD\uFFFD\uFFFD"},
		"part of a character":   {[]string{"\xe2\x82A"}, "\uFFFDA"},
		"part over chunks":      {[]string{"\xe2", "\x82", "A"}, "\uFFFDA"},
		"D3 surrogate":          {[]string{"\xed\xa0\x80"}, "\uFFFD\uFFFD\uFFFD"},
		"overlong":              {[]string{"\xc0\xaf"}, "\uFFFD\uFFFD"},
		"incomplete at the end": {[]string{"a\xf0\x9f\x98"}, "a\uFFFD"},
		"empty":                 {[]string{"", ""}, ""},
		"byte order mark":       {[]string{"\xef\xbb\xbfa"}, "\uFEFFa"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := decode(c.chunks); got != c.want {
				t.Errorf("got %q; want %q", got, c.want)
			}
		})
	}
}

func TestTextDecoderLong(t *testing.T) {
	whole := strings.Repeat("€\xff", 100000)
	if got, want := decode([]string{whole}), strings.Repeat("€\uFFFD", 100000); got != want {
		t.Errorf("got %d bytes; want %d", len(got), len(want))
	}
}

// However bytes are cut into chunks, the text is the same and valid, and valid
// text comes through unchanged.
func TestTextDecoderChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "é", "€", "\U0001F600", "\xff", "\x80", "\xe2", "\xf0\x9f", "\xed\xa0\x80"})
		data := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		var chunks []string
		for rest := data; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		got := decode(chunks)
		if whole := decode([]string{data}); got != whole {
			t.Fatalf("in chunks %q, whole %q", got, whole)
		}
		if !utf8.ValidString(got) || utf8.ValidString(data) && got != data {
			t.Fatalf("%q became %q", data, got)
		}
	})
}

func decode(chunks []string) string {
	d := manager.NewTextDecoder()
	var text strings.Builder
	for _, c := range chunks {
		text.WriteString(d.Decode([]byte(c)))
	}
	text.WriteString(d.Flush())
	return text.String()
}
