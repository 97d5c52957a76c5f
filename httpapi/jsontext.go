package httpapi

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// appendText appends text, which is valid UTF-8, as a JSON string: exactly what
// encode makes of it, in a fraction of the time. A command's output is the one
// thing in an answer that comes by the hundred megabytes.
func appendText(b, text []byte) []byte {
	b = append(b, '"')
	for {
		n := plain(text)
		b = append(b, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			return append(b, '"')
		}
		switch c := text[0]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = appendControl(b, c)
		default: // the first byte of a line separator, or of many other characters
			r, size := utf8.DecodeRune(text)
			if r == '\u2028' || r == '\u2029' {
				b = append(b, `\u202`...)
				b = append(b, '0'+byte(r&0xf))
			} else {
				b = append(b, text[:size]...)
			}
			text = text[size-1:]
		}
		text = text[1:]
	}
}

// appendControl appends a control character.
func appendControl(b []byte, c byte) []byte {
	if i := strings.IndexByte("\b\t\n\f\r", c); i >= 0 {
		return append(b, '\\', "btnfr"[i])
	}
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
}

// separator is the first byte of U+2028 and U+2029, which are escaped.
const separator = 0xe2

// plain is how many bytes at the beginning of text stand for themselves.
func plain(text []byte) (n int) {
	for ; n+8 <= len(text); n += 8 {
		if marks := special(binary.LittleEndian.Uint64(text[n:])); marks != 0 {
			return n + bits.TrailingZeros64(marks)/8
		}
	}
	for n < len(text) && text[n] >= ' ' && text[n] != '"' && text[n] != '\\' && text[n] != separator {
		n++
	}
	return n
}

// special looks at eight bytes at once: the lowest bit that is set belongs to the
// first of them that does not stand for itself. Those above it mean nothing.
func special(word uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return ((word-ones*' ')&^word |
		((word^ones*'"')-ones)&^(word^ones*'"') |
		((word^ones*'\\')-ones)&^(word^ones*'\\') |
		((word^ones*separator)-ones)&^(word^ones*separator)) & tops
}
