package tools

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestHeadTailKeepsBothEndsInFlatMemory(t *testing.T) {
	h := newHeadTail(1000)
	for i := range 1_000_000 {
		h.add([]byte{byte('a' + i%26), '\n'})
	}
	head, tail := h.parts()
	if h.total != 2_000_000 || len(head) != 500 || len(tail) != 500 {
		t.Errorf("total %d, head %d, tail %d", h.total, len(head), len(tail))
	}
	if head[0] != 'a' || tail[498] != byte('a'+999_999%26) {
		t.Errorf("wrong ends: %q … %q", head[:4], tail[496:])
	}
	if c := cap(h.head) + cap(h.tail); c > 4000 {
		t.Errorf("holds %d bytes", c)
	}
}

// The text is valid, fits, says whether it is all, and starts and ends as the
// stream does, whatever the stream and however it is cut into chunks.
func TestTextOfAnyStream(t *testing.T) {
	piece := rapid.OneOf(
		rapid.StringOfN(rapid.Rune(), 0, 50, -1),
		rapid.SampledFrom([]string{"\xff", "\xe4\xb8", "\xed\xa0\x80", "\x00\x1b[31m", "日本語", "😀😀", "line\n", "\r\n", `"\`}),
	)
	rapid.Check(t, func(t *rapid.T) {
		stream := []byte(strings.Repeat(strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "pieces"), ""), rapid.IntRange(1, 30).Draw(t, "times")))
		limit := rapid.IntRange(0, 2000).Draw(t, "limit")
		b := budget{limit, rapid.IntRange(200, 4000).Draw(t, "chars")}
		h := newHeadTail(limit)
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			h.add(rest[:n])
			rest = rest[n:]
		}
		text, truncated := h.text(b)
		switch {
		case !utf8.ValidString(text):
			t.Fatalf("invalid UTF-8: %q", text)
		case len(text) > b.bytes || jsonLen(text) > b.chars:
			t.Fatalf("%d bytes and %d chars do not fit %+v", len(text), jsonLen(text), b)
		case truncated == (text == validUTF8(stream)):
			t.Fatalf("truncated is %v, text %q, stream %q", truncated, text, stream)
		case utf8.Valid(stream) && strings.Contains(text, "\uFFFD") && !bytes.Contains(stream, []byte("\uFFFD")):
			t.Fatalf("cut inside a character: %q", text)
		}
	})
}

func TestMarkerCountsWhatIsMissing(t *testing.T) {
	h := newHeadTail(400)
	h.add(bytes.Repeat([]byte("0123456789"), 100))
	text, truncated := h.text(budget{400, 1000})
	head, rest, ok := strings.Cut(text, "\n[... ")
	line, tail, ok2 := strings.Cut(rest, "\n")
	if !truncated || !ok || !ok2 || line != "700 of 1000 bytes left out here ...]" || len(head)+len(tail) != 300 {
		t.Errorf("got %q", text)
	}
}

func TestShareOfTwoStreams(t *testing.T) {
	for _, c := range []struct{ out, err, wantOut, wantErr int }{
		{10, 10, 10, 10},
		{20_000, 10, 20_000, 10},
		{100_000, 0, 19_900, 0},
		{100_000, 100_000, 11_900, 11_900},
		{20_000, 20_000, 11_900, 11_900},
		{1000, 40_000, 1000, 19_900},
	} {
		o := newOutput(defaultStreamBytes, "")
		o.stdout.add(bytes.Repeat([]byte("o"), c.out))
		o.stderr.add(bytes.Repeat([]byte("e"), c.err))
		stdout, stderr := o.render()
		if n := len(stdout.text); n < c.wantOut || n > c.wantOut+100 {
			t.Errorf("%+v: %d bytes of stdout", c, n)
		}
		if n := len(stderr.text); n < c.wantErr || n > c.wantErr+100 {
			t.Errorf("%+v: %d bytes of stderr", c, n)
		}
	}
}

// What was dropped is part of what is missing, wherever it was.
func TestHeadTailWithGaps(t *testing.T) {
	big := func(r string, n int) []byte { return []byte(strings.Repeat(r, n)) }
	for name, c := range map[string]struct {
		fill         func(*headTail)
		begins, ends string
		missing      int
	}{
		"at the start":     {func(h *headTail) { h.skip(1000); h.add(big("b", 500)) }, "[... ", "b", 1000},
		"in the middle":    {func(h *headTail) { h.add(big("a", 300)); h.skip(7); h.add(big("b", 300)) }, "a", "b", 7},
		"after the middle": {func(h *headTail) { h.add(big("a", 300)); h.add(big("x", 4000)); h.skip(7); h.add(big("b", 300)) }, "a", "b", 3357},
		"twice":            {func(h *headTail) { h.skip(5); h.add(big("x", 10)); h.skip(5); h.add(big("b", 10)) }, "[... ", "b", 20},
		"at the end":       {func(h *headTail) { h.add(big("a", 300)); h.skip(7) }, "a", "\n", 7},
	} {
		h := newHeadTail(2000)
		c.fill(h)
		text, truncated := h.text(budget{2000, 4000})
		if !truncated || !strings.HasPrefix(text, c.begins) || !strings.HasSuffix(text, c.ends) || !strings.Contains(text, fmt.Sprintf("[... %d of %d bytes left out here ...]", c.missing, h.total)) {
			t.Errorf("%s: %.80q … %q", name, text, text[max(0, len(text)-20):])
		}
	}
}
