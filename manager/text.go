package manager

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// TextDecoder turns chunks of bytes into text. A character that is split over
// chunks stays whole; what is not UTF-8 becomes U+FFFD, one for each maximal
// part of a character, as the Unicode Standard recommends.
type TextDecoder struct {
	utf8    transform.Transformer
	pending []byte // the begun character at the end of the last chunk
}

// NewTextDecoder returns a decoder for one stream.
func NewTextDecoder() *TextDecoder { return &TextDecoder{utf8: unicode.UTF8.NewDecoder()} }

// Decode gives the text that is complete with this chunk.
func (d *TextDecoder) Decode(chunk []byte) string { return d.decode(chunk, false) }

// Flush gives what is left at the end of the stream.
func (d *TextDecoder) Flush() string { return d.decode(nil, true) }

func (d *TextDecoder) decode(chunk []byte, end bool) string {
	src := chunk
	if len(d.pending) > 0 {
		src = append(d.pending, chunk...)
		d.pending = nil
	}
	if utf8.Valid(src) {
		return string(src)
	}
	var text strings.Builder
	var buf [4096]byte
	for {
		nDst, nSrc, err := d.utf8.Transform(buf[:], src, end)
		text.Write(buf[:nDst])
		src = src[nSrc:]
		if !errors.Is(err, transform.ErrShortDst) {
			break
		}
	}
	d.pending = append([]byte(nil), src...)
	return text.String()
}

// cutText is s up to n bytes, without cutting a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
