package tools

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// budget is what a text may weigh.
type budget struct {
	bytes int // as UTF-8
	chars int // as a client counts it, in JSON
}

// text is the stream as valid UTF-8 within b. Invalid bytes become U+FFFD. When
// it does not fit, its middle makes room for one line that says so.
func (h *headTail) text(b budget) (s string, truncated bool) {
	head, tail := h.parts()
	if h.whole() {
		if s := validUTF8(head); b.holds(s) {
			return s, false
		}
	}
	return clip(head, tail, h.total, b)
}

// validUTF8 replaces each invalid byte by one U+FFFD, as takeHead does.
func validUTF8(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	s, _ := takeHead(raw, budget{math.MaxInt, math.MaxInt})
	return s
}

// clip joins what fits of head and tail around the line. With a tail of nil, head
// is all there is.
func clip(head, tail []byte, total int64, b budget) (string, bool) {
	if tail != nil {
		head, tail = head[:len(head)-len(partial(head))], skipContinuation(tail)
	}
	room := budget{b.bytes - maxMarker, b.chars - maxMarker}
	if room.bytes < maxMarker { // no room for a line: just the start
		if len(head) == 0 {
			head = tail
		}
		start, used := takeHead(head, b)
		return start, int64(used) < total
	}
	start, used := takeHead(head, budget{room.bytes - room.bytes/2, room.chars - room.chars/2})
	if tail == nil {
		tail = head[used:]
	}
	end, n := takeTail(tail, budget{room.bytes - len(start), room.chars - jsonLen(start)})
	missing := total - int64(used) - int64(n)
	if missing == 0 {
		return start + end, false
	}
	return start + marker(start, missing, total) + end, true
}

const maxMarker = 100

func marker(before string, missing, total int64) string {
	line := fmt.Sprintf("[... %d of %d bytes left out here ...]\n", missing, total)
	if before != "" && !strings.HasSuffix(before, "\n") {
		line = "\n" + line
	}
	return line
}

// takeHead is as much of the start of raw as fits, and how many bytes it used.
func takeHead(raw []byte, b budget) (s string, used int) {
	var out strings.Builder
	for used < len(raw) {
		r, n := utf8.DecodeRune(raw[used:])
		if b.spend(r); b.bytes < 0 || b.chars < 0 {
			break
		}
		out.WriteRune(r)
		used += n
	}
	return out.String(), used
}

// takeTail is as much of the end of raw as fits.
func takeTail(raw []byte, b budget) (s string, used int) {
	for used < len(raw) {
		r, n := utf8.DecodeLastRune(raw[:len(raw)-used])
		if b.spend(r); b.bytes < 0 || b.chars < 0 {
			break
		}
		used += n
	}
	var out strings.Builder
	for rest := raw[len(raw)-used:]; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		out.WriteRune(r)
		rest = rest[n:]
	}
	return out.String(), used
}

func (b *budget) spend(r rune) {
	b.bytes -= utf8.RuneLen(r)
	b.chars -= jsonChars(r)
}

func (b budget) holds(s string) bool {
	return len(s) <= b.bytes && jsonLen(s) <= b.chars
}

// jsonLen is the length of s in a JSON string, without the quotes.
func jsonLen(s string) (n int) {
	for _, r := range s {
		n += jsonChars(r)
	}
	return n
}

func jsonChars(r rune) int {
	switch {
	case r == '\n' || r == '\t' || r == '\r' || r == '"' || r == '\\':
		return 2
	case r < ' ':
		return 6
	case r > 0xFFFF:
		return 2 // a surrogate pair, where strings are UTF-16
	}
	return 1
}

// partial is the start of a character at the end of b whose rest is not there.
func partial(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return nil
			}
			return last
		}
	}
	return nil
}

// skipContinuation drops the rest of a character whose start is not there.
func skipContinuation(b []byte) []byte {
	for n := 0; n < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
		b = b[1:]
	}
	return b
}
