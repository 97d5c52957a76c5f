package httpapi

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// appendText appends text, which is valid UTF-8, as a JSON string: exactly what
// encode makes of it, in a fraction of the time. A command's output is the one
// thing in an answer that comes by the hundred megabytes.
func appendText(b []byte, text string) []byte {
	b = append(b, '"')
	for {
		n := plain(text)
		b = append(b, text[:n]...)
		if text = text[n:]; text == "" {
			return append(b, '"')
		}
		switch c := text[0]; {
		case c == '\n':
			b = append(b, `\n`...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			quoted, _ := json.Marshal(text[:1])
			b = append(b, strings.Trim(string(quoted), `"`)...)
		default: // the first byte of a line separator, or of many other characters
			r, size := utf8.DecodeRuneInString(text)
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

// separator is the first byte of U+2028 and U+2029, which are escaped.
const separator = 0xe2

// plain is how many bytes at the beginning of text stand for themselves.
func plain(text string) (n int) {
	for n+8 <= len(text) && allPlain(binary.LittleEndian.Uint64([]byte(text[n:n+8]))) {
		n += 8
	}
	for n < len(text) && text[n] >= ' ' && text[n] != '"' && text[n] != '\\' && text[n] != separator {
		n++
	}
	return n
}

// allPlain looks at eight bytes at once.
func allPlain(word uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	below := func(w, limit uint64) uint64 { return (w - ones*limit) &^ w & tops } // not 0: some byte is below it
	is := func(c uint64) uint64 { return below(word^ones*c, 1) }
	return below(word, ' ')|is('"')|is('\\')|is(separator) == 0
}
